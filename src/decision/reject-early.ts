import { soFar, type UnadmittedCall } from '../core/call.ts';
import { type GatewayError, problems, toGatewayError } from '../core/errors.ts';
import { isAddressAllowed } from '../state/rules/admission.ts';
import { identifyOrRecall } from './degraded.ts';
import type { Gate } from './gate.ts';

/** The statuses of refusals that stand in the activity log: wrong key, forbidden, too large, too many. */
const recordedStatuses: ReadonlySet<number> = new Set([401, 403, 413, 429]);
/**
 * The statuses of further refusals that stand there if a proxy refuses: malformed requests, and requests that
 * no proxy can serve.
 */
const recordedOnWire: ReadonlySet<number> = new Set([400, 417, 421, 431]);

/**
 * Refuses a call that the pipeline has not judged. It is the one way in which entrances do that. It takes
 * nothing from quota and rate, and leaves the trace of whatever belongs into the activity of the key's
 * tenant. Returns the error to answer, which is `refusal` with one exception: the key is not valid, or not
 * allowed from this address. Then the pipeline refuses, counts and records the call, and its caller learns
 * nothing else.
 */
export async function rejectEarly(
  gate: Pick<Gate, 'store' | 'tenants' | 'inspect' | 'record'>,
  call: UnadmittedCall,
  refusal: GatewayError,
): Promise<GatewayError> {
  if (!call.key) return refusal;
  const holder = await identifyOrRecall(gate, call.key.hash, call.receivedAtMs);
  const isServed = holder.ok && gate.tenants.find(holder.identity.tenantId) !== undefined;
  if (!isServed || !isAddressAllowed(holder, call.clientAddress))
    return gate.inspect(call).then(() => refusal, toGatewayError);
  const { status } = problems[refusal.code];
  const isOnWire = call.entrance === 'forward' || call.entrance === 'inbound';
  if (!recordedStatuses.has(status) && !(isOnWire && recordedOnWire.has(status))) return refusal;
  await gate.record({ ...soFar(call), identity: holder.identity }, refusal);
  return refusal;
}
