import { z } from 'zod';
import { a2aVerb } from '../../catalogue/protocols/a2a.ts';
import { ClassifiedCall, type Operation, receivedCall } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { newTraceId } from '../../core/ids.ts';
import { parseTarget } from '../../core/target.ts';
import type { Gate } from '../../decision/gate.ts';
import { rejectEarly } from '../../decision/reject-early.ts';
import { uuid } from '../fields/fields.ts';
import { type Caller, presentedBy, routesOf } from '../route.ts';
import { scanAnswer, toScanAnswer, withSanitizedBody } from '../scan-answer.ts';

const route = routesOf('scan');

const messageRequest = z.object({
  from_agent_id: uuid,
  to_agent_id: uuid,
  method: z.string().regex(/^[A-Za-z0-9_.:/-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ . : / -'),
  intent: z.string().max(65_536).nullish(),
  payload: z.record(z.string(), z.unknown()).nullish(),
});

type Message = z.output<typeof messageRequest>;

/** `POST /v1/a2a/scan` judges a message between two agents of the caller's tenant and environment. */
export const a2aScan = route('POST /v1/a2a/scan', {
  summary: 'Judge a message between agents',
  access: 'call',
  isForKeys: true,
  body: messageRequest,
  answer: scanAnswer
    .extend({ from_agent_id: z.uuid(), to_agent_id: z.uuid() })
    .meta({ id: 'MessageScanAnswer' }),
  async handle({ gate, caller, body: message, raw, clientAddress, nowMs }) {
    const { from_agent_id, to_agent_id, method } = message;
    const received = receivedCall({
      traceId: newTraceId(nowMs),
      entrance: 'a2a',
      receivedAtMs: nowMs,
      clientAddress,
      key: presentedBy(caller),
      method: 'POST',
      target: parseTarget(`a2a://${to_agent_id}/${encodeURIComponent(method)}`),
      headers: [],
      // Intent and payload are both content, so all of the message is read.
      body: raw,
      contentType: 'application/json',
      contentEncoding: '',
      claimed: { agentId: from_agent_id, ...(message.intent ? { context: message.intent } : {}) },
      lastHead: undefined,
    });
    const operation: Operation = {
      toolName: 'a2a',
      name: method,
      category: 'messaging',
      // An unknown method may change something.
      verb: a2aVerb(method) ?? 'WRITE',
      resource: {},
      principals: [],
    };
    const call = new ClassifiedCall(received, operation, `a2a:${to_agent_id}`);
    const refusal = await whyApart(gate, caller, message);
    if (refusal) throw await rejectEarly(gate, call, refusal);
    const decided = await gate.inspect(call);
    const answer = { ...toScanAnswer(decided), from_agent_id, to_agent_id };
    return withSanitizedBody(answer, decided.verdict, 'json');
  },
});

/**
 * Returns why the agents may not talk to each other; undefined where they may. An unknown agent counts as one
 * of another tenant.
 */
async function whyApart(gate: Gate, caller: Caller, message: Message): Promise<GatewayError | undefined> {
  if (caller.kind !== 'key') return undefined;
  const { identity } = caller;
  for (const agentId of [message.from_agent_id, message.to_agent_id]) {
    const agent = await gate.store.agentById(agentId);
    if (agent?.tenantId !== identity.tenantId)
      return new GatewayError('CROSS_TENANT', 'The message would cross from one tenant to another.');
    if (agent.envName !== identity.envName)
      return new GatewayError(
        'CROSS_ENVIRONMENT',
        'The message would cross from one environment to another.',
      );
  }
  return undefined;
}
