import type { TenantConfig } from '../config/schema.ts';
import type { Claimed } from '../core/call.ts';
import { GatewayError } from '../core/errors.ts';
import { whyNobody } from '../decision/auth-failure.ts';
import { identifyOrRecall } from '../decision/degraded.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { isAddressAllowed } from '../state/rules/admission.ts';
import { type ConnectionOwner, ownerOf } from '../wire/server/connections.ts';
import { type ProxyUser, readProxyAuthorization } from './proxy-authorization.ts';

const proxyAuthRequired = (): GatewayError =>
  new GatewayError(
    'PROXY_AUTH_REQUIRED',
    'Send an API key: Proxy-Authorization: Basic base64("agent:<key>").',
  );

export const keyRefused = (): GatewayError =>
  new GatewayError(
    'PROXY_AUTH_REQUIRED',
    'The API key in Proxy-Authorization is not valid: it was mistyped, revoked, or has expired.',
  );

/**
 * Returns an error in the terms of a proxy: outside a tunnel an invalid key is a matter between client and
 * proxy (407). All get the same answer: whose key it was is for its tenant alone.
 */
export const inProxyTerms = (error: GatewayError): GatewayError =>
  error.code === 'INVALID_KEY' ? keyRefused() : error;

/**
 * A client that may use the forward proxy. It has no tenant where its key has the form of one but is not
 * valid.
 */
interface Authenticated {
  readonly user: ProxyUser;
  readonly tenant: TenantConfig | undefined;
  /** Agent and tenant for whom its connections count. What a call says of its agent changes nothing here. */
  readonly owner: ConnectionOwner;
}

function withoutKey({ keyless, tenants, throttles }: EntranceGate): Authenticated {
  if (!keyless) {
    throttles.note('forward', 'missing');
    throw proxyAuthRequired();
  }
  const { key, tenantId } = keyless;
  const user = { key, claimed: {}, isKeyless: true };
  return { user, tenant: tenants.find(tenantId), owner: { tenantId, agentId: key.hash } };
}

/**
 * Returns what a call without a key may claim: only its context, which can only add risk. It may not name an
 * agent.
 */
const claimedWithoutKey = ({ context }: Claimed): Claimed => (context === undefined ? {} : { context });

/**
 * Returns the claims of a call. Its fields win over the user name of its connection, where either may speak.
 */
export function claimedBy(
  claimed: Claimed | undefined,
  from: { readonly claimed: Claimed; readonly isKeyless?: boolean | undefined },
): Claimed {
  if (!claimed) return from.claimed;
  return from.isKeyless ? claimedWithoutKey(claimed) : { ...from.claimed, ...claimed };
}

/**
 * Returns why a call without a key is refused: it names an agent, which takes a key. Undefined where it names
 * none.
 */
export const refusalOfClaim = ({ agentId }: Claimed): GatewayError | undefined =>
  agentId === undefined
    ? undefined
    : new GatewayError('FORBIDDEN', 'A call without a key cannot name an agent; send a key, or name none.');

const nobody: ConnectionOwner = { tenantId: '', agentId: '' };

/**
 * Authenticates a user of the forward proxy. Throws PROXY_AUTH_REQUIRED where a key is required and missing,
 * and RATE_LIMITED after too many wrong ones. A request without a key is not counted as a wrong one, since
 * clients ask that way whether they need one.
 */
export async function authenticateProxyUser(
  gate: EntranceGate,
  authorization: string | undefined,
  address: string,
): Promise<Authenticated> {
  if (authorization === undefined) return withoutKey(gate);
  const nowMs = Date.now();
  const user = readProxyAuthorization(authorization, gate.readKey);
  const holder = user && (await identifyOrRecall(gate, user.key.hash, nowMs));
  const tenant = holder?.ok ? await gate.tenants.learn(holder.identity.tenantId) : undefined;
  const { keys } = gate.throttles;
  const entrance = 'forward';
  if (!holder?.ok || !tenant) keys.failed(address, nowMs, { entrance, reason: whyNobody(holder) });
  else if (!isAddressAllowed(holder, address))
    keys.failed(address, nowMs, { entrance, reason: 'address', keyId: holder.key.keyId });
  if (!user) throw keyRefused();
  return { user, tenant, owner: holder?.ok ? ownerOf(holder.identity) : nobody };
}
