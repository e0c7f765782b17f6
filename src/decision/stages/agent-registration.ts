import type { ReceivedCall } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import type { AdmitRequest, Store } from '../../state/store.ts';
import type { PolicyBook } from '../../tenants/policy-book.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { readName } from '../trace/safe-names.ts';

const dayMs = 86_400_000;
/** The most registrations for one tenant in a day, by this process. */
export const registrationsPerDayMax = 10_000;

export interface RegistrationOptions {
  readonly store: Store;
  readonly tenants: Tenants;
  readonly policies: Pick<PolicyBook, 'rulesFor'>;
}

/** Registers the agent of a call. Rejects with a GatewayError where it may not be registered. */
export type RegisterAgent = (
  claimed: ReceivedCall['claimed'],
  request: Pick<AdmitRequest, 'keyHash' | 'agentId' | 'envName' | 'nowMs'>,
) => Promise<void>;

/**
 * Creates a function that registers a UUID which no agent has yet for the key's tenant. The call is not read
 * yet, but what it says of the agent is.
 */
export function createRegistration({ store, tenants, policies }: RegistrationOptions): RegisterAgent {
  /** The number of registrations since the day began, by tenant. */
  const registered = new Map<string, number>();
  let day = 0;

  function count(tenantId: string, nowMs: number): void {
    const today = Math.floor(nowMs / dayMs);
    if (today !== day) registered.clear();
    day = today;
    const ofTenant = (registered.get(tenantId) ?? 0) + 1;
    if (ofTenant > registrationsPerDayMax)
      throw new GatewayError('FORBIDDEN', 'Too many agents were registered by their calls today.');
    registered.set(tenantId, ofTenant);
  }

  return async ({ agentName, runtimeType }, { keyHash, agentId, envName, nowMs }) => {
    const holder = await store.identify(keyHash, nowMs);
    if (!holder.ok || agentId === undefined) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    const { tenantId } = holder.identity;
    if (!tenants.find(tenantId)?.autoRegisterAgents)
      throw new GatewayError(
        'FORBIDDEN',
        'This agent is not known, and agents are not registered by their calls here.',
      );
    count(tenantId, nowMs);
    const { engine } = await policies.rulesFor(tenantId);
    await store.ensureAgent({
      agentId,
      tenantId,
      envName: envName ?? holder.identity.envName,
      name: (agentName && readName(engine, agentName)) || agentId,
      runtimeType: (runtimeType && readName(engine, runtimeType)) || null,
      status: 'active',
      createdAtMs: nowMs,
    });
  };
}
