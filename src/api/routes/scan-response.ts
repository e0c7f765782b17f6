import { z } from 'zod';
import { dataClasses } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import { tooLarge } from '../../http/collect.ts';
import type { Gate } from '../../pipeline/gate.ts';
import { toRefusal } from '../../pipeline/stages/admit.ts';
import type { KeyRecord } from '../../state/store.ts';
import { bodyBytesMaxOf } from '../body-limit.ts';
import { describedBody } from '../described-call.ts';
import { missing, toIso, uuid } from '../fields.ts';
import { readAnswer } from '../read-answer.ts';
import { presentedBy, route } from '../route.ts';

/** `POST /v1/scan/response`: classifies what an upstream has answered to a call. Takes from the rate, not from the quota. */
export const scanResponse = route({
  method: 'POST',
  path: '/v1/scan/response',
  tag: 'scan',
  summary: 'Classify the answer to a call',
  access: 'scan',
  isForKeys: true,
  body: z.object({
    trace_id: uuid,
    response_body: z.unknown().optional().describe('A text, or any JSON'),
    response_status: z.int().min(100).max(599).nullish(),
  }),
  answer: z
    .object({
      trace_id: z.uuid(),
      data_classes: z.array(z.enum(dataClasses)),
      fields_redacted_count: z.int(),
      content_fingerprint: z.string(),
    })
    .meta({ id: 'ResponseScan' }),
  async handle({ gate, caller, body, raw, tenantId, clientAddress, nowMs }) {
    if (caller.kind !== 'key') throw new GatewayError('INVALID_KEY', 'Send a valid API key.');
    const tenant = tenantId();
    const keyHash = presentedBy(caller)?.hash ?? '';
    const content = describedBody(body.response_body, raw, 'response_body');
    const bytesMax = bodyBytesMaxOf(gate, caller);
    if (content.bytes.length > bytesMax) throw tooLarge(content.bytes.length, bytesMax);
    const admission = await gate.store.admit({
      keyHash,
      nowMs,
      agentId: undefined,
      envName: undefined,
      clientAddress,
      destination: '',
      toolName: '',
      verb: 'READ',
      counts: 'rate',
      termsOf: gate.tenants.termsOf,
    });
    if (!admission.ok) throw toRefusal(admission);
    if (!(await isOwnCall(gate, caller.key, body.trace_id))) throw missing('trace');
    const found = await readAnswer(gate, admission.identity, content, nowMs);
    const result = {
      data_classes: found.classes,
      fields_redacted_count: found.places,
      content_fingerprint: gate.fingerprint(tenant, found.canonical),
    };
    const scan = JSON.stringify({
      at: toIso(nowMs),
      ...(body.response_status ? { response_status: body.response_status } : {}),
      ...result,
    });
    if (!(await gate.store.addResponseScan(tenant, body.trace_id, scan))) throw missing('trace');
    return { trace_id: body.trace_id, ...result };
  },
});

/** Whether the call of a trace was made with this key, or with another of its agent: what answers it got is theirs to say. */
async function isOwnCall(
  { store }: Gate,
  { tenantId, keyId, agentId }: KeyRecord,
  traceId: string,
): Promise<boolean> {
  const line = await store.traceById(tenantId, traceId);
  if (line === undefined) return false;
  const trace = JSON.parse(line) as { readonly key_id?: string; readonly agent_id?: string };
  if (trace.key_id === keyId || trace.agent_id === agentId) return true;
  const asked = trace.key_id === undefined ? undefined : await store.keyById(tenantId, trace.key_id);
  return asked?.agentId === agentId;
}
