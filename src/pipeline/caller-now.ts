import type { AgentStatus, Call } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { isAddressAllowed } from '../state/admission.ts';
import type { KeyRecord, Store } from '../state/store.ts';

export type CallerStore = Pick<Store, 'identify' | 'agentById' | 'keyById'>;

export interface CallerNow {
  readonly key: KeyRecord;
  readonly agentStatus: AgentStatus;
}

/**
 * What has become of the key and the agent of a call that was admitted a while ago. Takes and counts nothing. Throws INVALID_KEY where the
 * key is none any more, and IP_NOT_ALLOWED where the call's address may not use it any more.
 */
export async function callerNow(store: CallerStore, call: Call): Promise<CallerNow> {
  const { key, identity } = call;
  const holder = key && (await store.identify(key.hash, Date.now()));
  if (!holder?.ok) throw new GatewayError('INVALID_KEY', 'The key is not valid any more.');
  const { tenantId, parentKeyId } = holder.key;
  const parent = parentKeyId === null ? undefined : await store.keyById(tenantId, parentKeyId);
  if (![holder.key, parent].every((it) => !it || isAddressAllowed(it, call.clientAddress)))
    throw new GatewayError(
      'IP_NOT_ALLOWED',
      'The address that the call comes from is not on the allowlist of the key any more.',
    );
  const agent = identity && (await store.agentById(identity.agentId));
  const agentStatus = holder.agentStatus === 'active' ? (agent?.status ?? 'suspended') : holder.agentStatus;
  return { key: holder.key, agentStatus };
}
