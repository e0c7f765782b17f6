import { z } from 'zod';
import { dataClasses } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { ownName } from '../../core/safe-name.ts';
import { parseTarget } from '../../core/target.ts';
import { findingsOf } from '../../decision/answers/answer-findings.ts';
import type { SeenAnswer } from '../../decision/answers/answer-memory.ts';
import { toResponseScan } from '../../decision/answers/response-scan.ts';
import { pipedServerName, serverOrigin } from '../../decision/facts/mcp-call.ts';
import type { ShownDrift } from '../../decision/facts/tool-memory.ts';
import type { Gate } from '../../decision/gate.ts';
import type { Trace } from '../../decision/simulation/call-of-trace.ts';
import { admissionError } from '../../decision/stages/admit.ts';
import type { KeyRecord } from '../../state/store.ts';
import { mayListTools, toolLists } from '../../tenants/listed-tools.ts';
import { tooLarge } from '../../wire/server/collect.ts';
import { apiBodyBytesMaxOf } from '../body-limit.ts';
import { bodyEncoding, contentTypeOf, describedBody, flatHeaders } from '../fields/described-call.ts';
import { missing, uuid } from '../fields/fields.ts';
import { presentedBy, routesOf } from '../route.ts';

const route = routesOf('scan');

/**
 * The host of a reported answer, which is none. The agent itself said where it called, so an answer that it
 * reports may excuse nothing.
 */
const reported = '';

/**
 * `POST /v1/scan/response` classifies what an upstream has answered to a call. It keeps the result with the
 * trace of that call, where one is named. It takes from the rate, not from the quota.
 */
export const scanResponse = route('POST /v1/scan/response', {
  summary: 'Classify the answer to a call',
  access: 'scan',
  isForKeys: true,
  body: z.object({
    trace_id: uuid.optional().describe('Of the call; without it nothing is kept'),
    response_body: z.unknown().optional().describe('A text, or any JSON'),
    body: z.unknown().optional().describe('The same, where response_body is missing'),
    body_encoding: bodyEncoding,
    headers: z.unknown().optional().describe('Of the answer: an object of texts, or of lists of texts'),
    response_status: z.int().min(100).max(599).nullish(),
  }),
  answer: z
    .object({
      trace_id: z.uuid().optional(),
      data_classes: z.array(z.enum(dataClasses)),
      fields_redacted_count: z.int(),
      content_fingerprint: z.string(),
      injection: z
        .object({
          detected: z.boolean(),
          score: z.number().min(0).max(1),
          findings: z.array(z.object({ kind: z.string(), location: z.string() })),
        })
        .describe('Whether the content gives orders to the agent that reads it'),
    })
    .meta({ id: 'ResponseScan' }),
  takesBase64: true,
  async handle({ gate, caller, body, raw, tenantId, clientAddress, nowMs }) {
    if (caller.kind !== 'key') throw new GatewayError('INVALID_KEY', 'Send a valid API key.');
    const tenant = tenantId();
    const keyHash = presentedBy(caller)?.hash ?? '';
    const content =
      body.response_body === undefined
        ? describedBody(body.body, raw, 'body', body.body_encoding)
        : describedBody(body.response_body, raw, 'response_body', body.body_encoding);
    const contentType = contentTypeOf(content, flatHeaders(body.headers));
    const bytesMax = apiBodyBytesMaxOf(gate, caller);
    if (content.bytes.length > bytesMax) throw tooLarge(content.bytes.length, bytesMax);
    const admission = await gate.store.admit({
      keyHash,
      nowMs,
      agentId: undefined,
      envName: undefined,
      clientAddress,
      destination: '',
      toolName: ownName(''),
      verb: 'READ',
      counts: 'rate',
      termsOf: gate.tenants.termsOf,
    });
    if (!admission.ok) throw admissionError(admission);
    const traceId = body.trace_id;
    const call = traceId === undefined ? undefined : await findOwnCall(gate, caller.key, traceId);
    if (traceId !== undefined && !call) throw missing('trace');
    const found = await gate.answerReader.read(admission.identity, {
      ...content,
      contentType,
      contentEncoding: '',
    });
    if (found.unreadable !== undefined)
      throw new GatewayError(
        'VALIDATION_FAILED',
        `The content cannot be read to its end: ${found.unreadable}.`,
      );
    const { at, ...result } = toResponseScan(gate, tenant, found, nowMs);
    gate.answers.found(findingsOf(result, 'reported'));
    if (!call || traceId === undefined) return result;
    const status = body.response_status ? { response_status: body.response_status } : {};
    const drift =
      admission.agentStatus === 'active' ? await driftIn(gate, tenant, call, content.bytes) : undefined;
    const kept = { at, ...status, ...result, ...(drift ? { mcp_drift: drift } : {}) };
    if (!(await gate.store.addResponseScan(tenant, traceId, JSON.stringify(kept)))) throw missing('trace');
    // A trace has room for a few reports, and only a report that has found room there counts. An agent that
    // is suspended adds to nothing.
    if (admission.agentStatus === 'active')
      gate.answerMemory.saw(
        {
          tenantId: tenant,
          traceId,
          agentId: call.agentId,
          toolName: call.toolName,
          host: reported,
          atMs: nowMs,
        },
        found,
      );
    return { trace_id: traceId, ...result };
  },
});

interface OwnCall extends Pick<SeenAnswer, 'agentId' | 'toolName'> {
  readonly traceId: string;
  readonly url: string;
}

const pipedServer = new RegExp(`^mcp://${pipedServerName}/`);

/**
 * Returns what is new about the tools that a server over pipes has listed; undefined where nothing is. Nobody
 * else sees the answers of such a server. What is reported of servers with addresses is not believed, since
 * the proxies see what those say.
 */
async function driftIn(gate: Gate, tenantId: string, { traceId, toolName, url }: OwnCall, answer: Buffer) {
  const text = answer.toString();
  if (toolName !== 'mcp' || !pipedServer.test(url) || !mayListTools(text)) return undefined;
  const target = parseTarget(url);
  const place = { origin: ownName(serverOrigin(target)), path: ownName(target.path) };
  const call = { traceId, tenantId, target, shownPlace: () => place };
  let drift: ShownDrift | undefined;
  // The request is not at hand, and a page of a list does not say what was removed.
  for (const { tools, hasMore } of toolLists(text) ?? [])
    drift = (await gate.toolMemory.saw(call, { tools, hasMore, isPart: true })) ?? drift;
  return drift;
}

/**
 * Returns the call of a trace where this key or another of its agent has made it, else undefined. What it was
 * answered is for them to say.
 */
async function findOwnCall(
  { store }: Gate,
  { tenantId, keyId, agentId }: KeyRecord,
  traceId: string,
): Promise<OwnCall | undefined> {
  const line = await store.traceById(tenantId, traceId);
  if (line === undefined) return undefined;
  const trace = JSON.parse(line) as Partial<Trace>;
  const call = {
    traceId,
    agentId: trace.agent_id ?? agentId,
    toolName: trace.tool_name ?? '',
    url: trace.url ?? '',
  };
  if (trace.key_id === keyId || trace.agent_id === agentId) return call;
  const asked = trace.key_id === undefined ? undefined : await store.keyById(tenantId, trace.key_id);
  return asked?.agentId === agentId ? call : undefined;
}
