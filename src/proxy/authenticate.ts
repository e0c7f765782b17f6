import type { TenantConfig } from '../config/schema.ts';
import { GatewayError } from '../errors.ts';
import { identifyOrRecall } from '../pipeline/degraded.ts';
import type { Gate } from '../pipeline/gate.ts';
import { isAddressAllowed } from '../state/admission.ts';
import { type ProxyUser, readProxyAuthorization } from './proxy-authorization.ts';

export const proxyAuthRequired = (): GatewayError =>
  new GatewayError(
    'PROXY_AUTH_REQUIRED',
    'Send an API key: Proxy-Authorization: Basic base64("agent:<key>").',
  );

/**
 * Outside a tunnel an invalid key is a matter between client and proxy (407), and the same answer for all: whose key it was is for its
 * tenant alone to see.
 */
export const inProxyTerms = (error: GatewayError): GatewayError =>
  error.code === 'INVALID_KEY' ? proxyAuthRequired() : error;

/**
 * Who uses the forward proxy; without a tenant where the key has the form of one and is not valid. Throws PROXY_AUTH_REQUIRED where there
 * is no key, and RATE_LIMITED in place of anything that is wrong with it where too much was; a request that brings none tries nothing,
 * since clients ask that way whether they need one.
 */
export async function authenticateProxyUser(
  gate: Gate,
  authorization: string | undefined,
  address: string,
): Promise<{ user: ProxyUser; tenant: TenantConfig | undefined }> {
  if (authorization === undefined) throw proxyAuthRequired();
  const nowMs = Date.now();
  const user = readProxyAuthorization(authorization, gate.readKey);
  const holder = user && (await identifyOrRecall(gate, user.key.hash, nowMs));
  const tenant = holder?.ok ? await gate.tenants.learn(holder.identity.tenantId) : undefined;
  const { keys } = gate.throttles;
  if (!holder?.ok || !tenant) keys.failed(address, nowMs);
  else if (!isAddressAllowed(holder.key, address)) keys.failed(address, nowMs, holder.key.keyId);
  if (!user) throw proxyAuthRequired();
  return { user, tenant };
}
