import type { TenantConfig } from '../config/schema.ts';
import { GatewayError } from '../errors.ts';
import { identifyOrRecall } from '../pipeline/degraded.ts';
import type { Gate } from '../pipeline/gate.ts';
import { type ProxyUser, readProxyAuthorization } from './proxy-authorization.ts';

export const proxyAuthRequired = (): GatewayError =>
  new GatewayError(
    'PROXY_AUTH_REQUIRED',
    'Send an API key: Proxy-Authorization: Basic base64("agent:<key>").',
  );

/**
 * Who uses the forward proxy. Throws PROXY_AUTH_REQUIRED where that is nobody, and RATE_LIMITED where the address has tried too many keys;
 * a request that brings none tries nothing, since clients ask that way whether they need one.
 */
export async function authenticateProxyUser(
  gate: Gate,
  authorization: string | undefined,
  address: string,
): Promise<{ user: ProxyUser; tenant: TenantConfig }> {
  if (authorization === undefined) throw proxyAuthRequired();
  const nowMs = Date.now();
  gate.throttle.check(address, nowMs);
  const user = readProxyAuthorization(authorization, gate.readKey);
  const holder = user && (await identifyOrRecall(gate, user.key.hash, nowMs));
  const tenant = holder?.ok ? await gate.tenants.learn(holder.identity.tenantId) : undefined;
  if (user && tenant) return { user, tenant };
  gate.throttle.failed(address, nowMs);
  throw proxyAuthRequired();
}
