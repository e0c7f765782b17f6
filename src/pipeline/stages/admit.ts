import type { Call, Identity } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import type { Admission, MaybePromise, Store } from '../../state/store.ts';
import { checkAllowlist } from '../allowlist.ts';
import type { Stage } from '../pipeline.ts';
import type { Tenants } from '../tenants.ts';

const dayMs = 86_400_000;
const registrationsPerDayMax = 10_000;

export interface AdmitOptions {
  readonly store: Store;
  readonly tenants: Tenants;
}

/** The key's identity in the environment that the call names: its own, or one of those that it may name. */
function inEnvironment({ key, identity }: Admission & { ok: true }, named: string | undefined): Identity {
  if (named === undefined || named === identity.envName) return identity;
  if (key.envNames.includes(named)) return { ...identity, envName: named };
  throw new GatewayError('CROSS_ENVIRONMENT', 'The key may not be used in this environment.');
}

/** May it call at all? One atomic round trip to the state; then the permission and the body limit of the key's tenant. */
export function admit({ store, tenants }: AdmitOptions): Stage {
  const ask = (call: Call): MaybePromise<Admission> => {
    if (!call.key) throw new GatewayError('INVALID_KEY', 'Send a valid API key.');
    return store.admit({
      keyHash: call.key.hash,
      nowMs: call.receivedAtMs,
      agentId: call.claimed.agentId,
      destination: call.destination,
    });
  };

  /** A UUID that no agent has yet is registered for the key's tenant, then the call is admitted like any other. */
  async function registerAgent(call: Call): Promise<void> {
    const { key, claimed, receivedAtMs } = call;
    const holder = key && (await store.identify(key.hash, receivedAtMs));
    if (!holder?.ok || claimed.agentId === undefined) {
      throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    }
    if (!tenants.find(holder.identity.tenantId)?.autoRegisterAgents) {
      throw new GatewayError(
        'FORBIDDEN',
        'This agent is not known, and agents are not registered by their calls here.',
      );
    }
    countRegistration(holder.identity.tenantId, receivedAtMs);
    await store.ensureAgent({
      agentId: claimed.agentId,
      tenantId: holder.identity.tenantId,
      envName: claimed.envName ?? holder.identity.envName,
      name: claimed.agentName ?? claimed.agentId,
      runtimeType: claimed.runtimeType ?? null,
      status: 'active',
      createdAtMs: receivedAtMs,
    });
    accept(call, await ask(call));
  }

  /** Registered since the day began, by tenant. */
  const registered = new Map<string, number>();
  let day = 0;

  function countRegistration(tenantId: string, nowMs: number): void {
    const today = Math.floor(nowMs / dayMs);
    if (today !== day) registered.clear();
    day = today;
    const count = (registered.get(tenantId) ?? 0) + 1;
    if (count > registrationsPerDayMax) {
      throw new GatewayError('FORBIDDEN', 'Too many agents were registered by their calls today.');
    }
    registered.set(tenantId, count);
  }

  function accept(call: Call, admission: Admission): void {
    if (!admission.ok) {
      if (admission.code === 'UNKNOWN_AGENT') throw new GatewayError('NOT_FOUND', 'The agent is not known.');
      throw new GatewayError(admission.code, admission.detail);
    }
    const tenant = tenants.find(admission.identity.tenantId);
    if (!tenant)
      throw new GatewayError('INVALID_KEY', 'The key is not valid: its tenant is not served here.');
    call.identity = inEnvironment(admission, call.claimed.envName);
    call.agentStatus = admission.agentStatus;
    checkAllowlist(admission.key, call.clientAddress);
    call.isNewDestination = admission.isNewDestination;
    if (!admission.identity.permissions.has('scan') && !admission.identity.permissions.has('admin')) {
      throw new GatewayError('FORBIDDEN', 'The key lacks the permission "scan".');
    }
    if (call.body.length > tenant.maxBodyBytes) {
      throw new GatewayError('PAYLOAD_TOO_LARGE', `The body may have ${tenant.maxBodyBytes} bytes.`, {
        actual_bytes: call.body.length,
        limit_bytes: tenant.maxBodyBytes,
      });
    }
  }

  function settle(call: Call, admission: Admission): void | Promise<void> {
    return !admission.ok && admission.code === 'UNKNOWN_AGENT'
      ? registerAgent(call)
      : accept(call, admission);
  }

  return {
    name: 'admit',
    run(call) {
      const admission = ask(call);
      return admission instanceof Promise
        ? admission.then((it) => settle(call, it))
        : settle(call, admission);
    },
  };
}
