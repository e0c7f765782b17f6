import { z } from 'zod';
import { idOf, missing, pageOf, pageQuery, toListAnswer, toPage } from '../../fields/fields.ts';
import { publicTrace } from '../../fields/trace-fields.ts';
import { toFilter, traceFilterQuery, traceTimes } from '../../fields/trace-query.ts';
import { routesOf } from '../../route.ts';

const route = routesOf('activity');

type PublicTrace = z.infer<typeof publicTrace>;
type AnswerScan = NonNullable<PublicTrace['response_scans']>[number];

const listQuery = z.object({ ...pageQuery, ...traceFilterQuery, ...traceTimes });

/** `GET /v1/traces` lists traces, newest first. A page may have few items, or none, and still a next one. */
export const listTracesRoute = route('GET /v1/traces', {
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

/** `GET /v1/traces/{trace_id}` shows a trace, with what was found in the answers to its call. */
export const showTrace = route('GET /v1/traces/:trace_id', {
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
    if (scans.length > 0) trace.response_scans = scans.map((it) => JSON.parse(it) as AnswerScan);
    return trace;
  },
});
