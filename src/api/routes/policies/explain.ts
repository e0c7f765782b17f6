import { z } from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import { unsaidBytesMax } from '../../../decision/body-limit.ts';
import type { SimulatedCall } from '../../../decision/simulation/simulated-call.ts';
import { doneBy } from '../../../decision/stages/admit.ts';
import { mayNameEnvironment, scopeViolationsOf } from '../../../state/rules/admission.ts';
import { tooLarge } from '../../../wire/server/collect.ts';
import { describedCall } from '../../fields/described-call.ts';
import { type DescribedRequest, toDescribedCall } from '../../fields/scanned-call.ts';
import { type KeyCaller, routesOf } from '../../route.ts';
import { scanAnswer, toScanAnswer, withSanitizedBody } from '../../scan-answer.ts';
import { SimulatedAgents } from '../../simulated-agents.ts';
import { standingIn } from '../../standing-in.ts';

const route = routesOf('scan');

const explainAnswer = scanAnswer
  .omit({ trace_id: true, approval_id: true })
  .extend({
    dry_run: z.literal(true),
    not_considered: z.array(z.string()).describe('What only a call that is made could be judged by'),
  })
  .meta({ id: 'Explanation' });

/** Facts that only the admission of a real call gives. */
const notConsidered = [
  'approvals and denials of the identical call',
  'what is usual for the agent, its rate, and what it was answered lately',
  'quota and rate limits',
  'changes of MCP tools',
];

/** `POST /v1/explain` says what would become of a described call. It has no effect and leaves no trace. */
export const explain = route('POST /v1/explain', {
  summary: 'Say what would become of an outbound call, without any effect',
  access: ['scan'],
  isForKeys: true,
  body: describedCall,
  perKeyMax: 2,
  answer: explainAnswer,
  takesBase64: true,
  describesCall: true,
  async handle(request) {
    const { gate, body } = request;
    const caller = request.caller as KeyCaller;
    const { tenantId, ownAgent } = caller.identity;
    const tenant = gate.tenants.find(tenantId);
    if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    const env = body.env ?? undefined;
    const { call, form } = toDescribedCall(request as DescribedRequest);
    const bytesMax = unsaidBytesMax(gate, tenantId, call.target);
    if (call.body.length > bytesMax) throw tooLarge(call.body.length, bytesMax);
    const agents = new SimulatedAgents(gate, tenantId, caller);
    const own = await agents.of(undefined, env);
    const named = await agents.of(body.agent_id ?? undefined, env);
    if (!mayNameEnvironment(caller.key, named.identity.envName))
      throw new GatewayError('CROSS_ENVIRONMENT', 'The key may not be used in this environment.');
    const simulated: SimulatedCall = {
      received: call,
      identity: { ...named.identity, ownAgent, permissions: caller.identity.permissions },
      agentStatus: own.status === 'active' ? named.status : own.status,
      scopeViolations: (operation) => scopeViolationsOf(caller.key, doneBy(operation)),
    };
    const page = await gate.policies.rulesFor(tenantId);
    const ground = { tenant, page, given: {}, standingOf: standingIn(gate) };
    const [decided] = await gate.simulator.run(simulated, ground, [page.rules]);
    if (!decided) throw new Error('one set of rules gives one verdict');
    const { trace_id: _, approval_id: __, ...answer } = toScanAnswer(decided);
    const told = { ...answer, dry_run: true, not_considered: notConsidered } as const;
    return withSanitizedBody(told, decided.verdict, form);
  },
});
