import { GatewayError } from '../core/errors.ts';
import type { Gate } from '../decision/gate.ts';
import { invalid } from './fields/invalid.ts';
import type { Caller } from './route.ts';

/**
 * Returns the tenant of a request: the key's own, the named one, that of the session, or the only one. Throws
 * where there is none that the caller may act for.
 */
export function tenantOf(gate: Gate, caller: Caller, named: string | null | undefined): string {
  if (caller.kind === 'refused') throw caller.refusal;
  if (caller.kind === 'anybody') throw new GatewayError('INVALID_KEY', 'Send a valid API key.');
  if (caller.kind === 'key') {
    if (named && named !== caller.identity.tenantId)
      throw new GatewayError('FORBIDDEN', 'A key acts for its own tenant only.');
    return caller.identity.tenantId;
  }
  const tenantIds = gate.tenants.ids();
  const tenantId = named || caller.session?.tenantId || (tenantIds.length === 1 ? tenantIds[0] : undefined);
  if (tenantId === undefined)
    throw invalid([{ path: 'tenant_id', message: 'name the tenant that the admin secret acts for' }]);
  if (!gate.tenants.find(tenantId)) throw new GatewayError('NOT_FOUND', 'There is no such tenant.');
  return tenantId;
}
