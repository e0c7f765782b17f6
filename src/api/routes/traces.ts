import { z } from 'zod';
import { dataClasses } from '../../call.ts';
import type { TraceFilter } from '../../state/store.ts';
import {
  band,
  decision,
  idOf,
  instant,
  missing,
  pageOf,
  pageQuery,
  present,
  time,
  toListAnswer,
  toPage,
  uuid,
} from '../fields.ts';
import { route } from '../route.ts';

const tag = 'activity';
const word = z.string().min(1).max(256);

/** What every trace has; the rest depends on how far its call came. */
const publicTrace = z
  .looseObject({
    trace_id: z.uuid(),
    at: time,
    tenant_id: z.string(),
    env_name: z.string(),
    agent_id: z.uuid(),
    decision,
    reason_codes: z.array(z.string()).optional(),
  })
  .meta({ id: 'Trace' });

type PublicTrace = z.infer<typeof publicTrace>;

/** What traces are looked for by, wherever they are. */
export const traceFilter = {
  agent_id: uuid.optional(),
  tool_name: word.optional(),
  operation: word.optional(),
  decision: decision.optional(),
  reason: word.optional(),
  band: band.optional(),
  class: z.enum(dataClasses).optional(),
  tag: word.optional(),
  q: word.optional().describe('Anywhere in the trace, in any case.'),
};

const listQuery = z.object({
  ...pageQuery,
  ...traceFilter,
  from: instant.optional().describe('Inclusive.'),
  to: instant.optional().describe('Exclusive.'),
  agent: uuid.optional().describe('The same as agent_id.'),
  tool: word.optional().describe('The same as tool_name.'),
});

export const toFilter = (query: Partial<z.output<typeof listQuery>>): TraceFilter =>
  present({
    agentId: query.agent_id ?? query.agent,
    toolName: query.tool_name ?? query.tool,
    operation: query.operation,
    decision: query.decision,
    reason: query.reason,
    band: query.band,
    dataClass: query.class,
    tag: query.tag,
    fromMs: query.from,
    beforeMs: query.to,
    text: query.q,
  });

/** `GET /v1/traces`: newest first. A page may have few items, or none, and still a next one. */
export const listTraces = route({
  method: 'GET',
  path: '/v1/traces',
  tag,
  summary: 'List traces',
  access: 'activity:read',
  query: listQuery,
  answer: pageOf(publicTrace),
  isListing: true,
  async handle({ gate, query, tenantId }) {
    const page = await gate.store.listTraces(tenantId(), toFilter(query), toPage(query));
    return toListAnswer(page, (line) => JSON.parse(line) as PublicTrace);
  },
});

/** `GET /v1/traces/{trace_id}`: with what was found in the answers to the call. */
export const showTrace = route({
  method: 'GET',
  path: '/v1/traces/:trace_id',
  tag,
  summary: 'Show a trace',
  access: 'activity:read',
  answer: publicTrace,
  async handle({ gate, params, tenantId }) {
    const tenant = tenantId();
    const traceId = idOf(params, 'trace_id', 'trace');
    const line = await gate.store.traceById(tenant, traceId);
    if (line === undefined) throw missing('trace');
    const scans = await gate.store.responseScansOf(tenant, traceId);
    const trace = JSON.parse(line) as PublicTrace;
    if (scans.length === 0) return trace;
    return { ...trace, response_scans: scans.map((it) => JSON.parse(it) as unknown) };
  },
});
