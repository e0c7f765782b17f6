import type { Identity, PresentedKey } from '../core/call.ts';
import { GatewayError } from '../core/errors.ts';
import type { Keyless } from '../credentials/keyless.ts';
import { keylessKeyPrefix } from '../credentials/keyless.ts';
import { isAddressAllowed } from '../state/rules/admission.ts';
import type { Store } from '../state/store.ts';
import type { Tenants } from '../tenants/tenants.ts';

/** The sources that tell who may still call. */
export interface CallerSources {
  readonly store: Pick<Store, 'identify' | 'agentById'>;
  readonly tenants: Pick<Tenants, 'find'>;
  /** The key that stands for callers who bring none, where there may be such callers. */
  readonly keyless?: Pick<Keyless, 'key'> | undefined;
}

/** The caller of a call, or of something that is open. */
export interface OpenCaller {
  readonly key: PresentedKey | undefined;
  readonly identity: Identity | undefined;
  readonly clientAddress: string;
}

/**
 * Returns the present key record and agent status of a call that was admitted a while ago. Takes and counts
 * nothing. Throws INVALID_KEY where the key has ended, and IP_NOT_ALLOWED where the address has lost its
 * place on the allowlist.
 */
export async function reauthorize(
  { store, tenants, keyless }: CallerSources,
  { key, identity, clientAddress }: OpenCaller,
) {
  // The key of calls without a key is never revoked, so that it is there again when such calls are allowed
  // again.
  const isForgone = key?.prefix === keylessKeyPrefix && key.hash !== keyless?.key.hash;
  const holder = key && !isForgone ? await store.identify(key.hash, Date.now()) : undefined;
  if (!holder?.ok || !tenants.find(holder.identity.tenantId))
    throw new GatewayError('INVALID_KEY', 'The key is not valid any more.');
  if (!isAddressAllowed(holder, clientAddress))
    throw new GatewayError(
      'IP_NOT_ALLOWED',
      'The address that the call comes from is not on the allowlist of the key any more.',
    );
  const agent = identity && (await store.agentById(identity.agentId));
  const agentStatus = holder.agentStatus === 'active' ? (agent?.status ?? 'suspended') : holder.agentStatus;
  return { key: holder.key, agentStatus };
}
