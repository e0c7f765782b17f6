import type { Gate } from '../pipeline/gate.ts';
import type { Caller } from './route.ts';

/** Bytes that the body of a call may have: as the tenant of the caller says, else the daemon. */
export function bodyBytesMaxOf({ config, tenants }: Gate, caller: Caller): number {
  const tenant = caller.kind === 'key' ? tenants.find(caller.identity.tenantId) : undefined;
  return tenant?.maxBodyBytes ?? config.limits.maxBodyBytes;
}
