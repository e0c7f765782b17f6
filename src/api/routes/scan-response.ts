import { z } from 'zod';
import { dataClasses } from '../../call.ts';
import { tooLarge } from '../../http/collect.ts';
import { toRefusal } from '../../pipeline/stages/admit.ts';
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
    const tenant = tenantId();
    const keyHash = presentedBy(caller)?.hash ?? '';
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
    const content = describedBody(body.response_body, raw, 'response_body');
    const limit = gate.tenants.find(tenant)?.maxBodyBytes ?? gate.config.limits.maxBodyBytes;
    if (content.bytes.length > limit) throw tooLarge(content.bytes.length, limit);
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
