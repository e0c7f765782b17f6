import { hash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../core/errors.ts';
import { whyNobody } from '../decision/auth-failure.ts';
import { identifyOrRecall } from '../decision/degraded.ts';
import type { Gate } from '../decision/gate.ts';
import { rejectEarly } from '../decision/reject-early.ts';
import { isAddressAllowed } from '../state/rules/admission.ts';
import { demand } from './fields/permissions.ts';
import { requestAsCall } from './fields/request-as-call.ts';
import type { Caller, KeyCaller, Route } from './route.ts';
import { type SessionCaller, type SessionRequest, sessionCaller } from './session/session-caller.ts';

const invalidKey = (): GatewayError =>
  new GatewayError('INVALID_KEY', 'Send a valid API key: "Authorization: Bearer iv_live_…".');

const notAllowedHere = (): GatewayError =>
  new GatewayError('IP_NOT_ALLOWED', 'The key may not be used from this address.');

/**
 * Returns the caller of a request. Throws where nobody valid asks, or where the caller may not use the route.
 * A text without the form of a key is turned away without asking the state. A valid key passes from an
 * address that it may be used from, whatever failed there before. Whatever fails is counted against the
 * address, and answered RATE_LIMITED once that was too often.
 */
export async function authenticate(gate: Gate, route: Route, presented: SessionRequest): Promise<Caller> {
  if (route.access === 'public') return { kind: 'anybody' };
  const { headers, clientAddress, nowMs } = presented;
  const { keys } = gate.throttles;
  const authorization = headers['authorization'];
  const byCookie = authorization === undefined ? await sessionCaller(gate, presented) : undefined;
  if (byCookie) return permitted(route, byCookie);
  if (route.access === 'session') {
    gate.throttles.note('api', 'missing');
    throw new GatewayError('INVALID_KEY', 'There is no session; sign in first.');
  }
  const text = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
  const key = gate.readKey(text);
  if (!key) return asAdmin(gate, route, text, presented);
  // The pipeline asks again for calls, and also decides what holds while the state is away.
  const isCall = route.access === 'call';
  const holder = await (isCall
    ? identifyOrRecall(gate, key.hash, nowMs)
    : gate.store.identify(key.hash, nowMs));
  if (!holder.ok || !(await gate.tenants.learn(holder.identity.tenantId))) {
    keys.failed(clientAddress, nowMs, { entrance: 'api', reason: whyNobody(holder) });
    const refusal = holder.ok ? invalidKey() : new GatewayError('INVALID_KEY', holder.detail);
    if (isCall) return { kind: 'refused', presented: key, refusal };
    throw refusal;
  }
  // The address is checked before anything of the request is read. So from elsewhere the key can use up
  // nothing of its tenant's.
  if (!isAddressAllowed(holder, clientAddress)) {
    keys.failed(clientAddress, nowMs, { entrance: 'api', reason: 'address', keyId: holder.key.keyId });
    throw await rejectEarly(gate, requestAsCall(gate, route, key, presented), notAllowedHere());
  }
  const { identity, agentStatus } = holder;
  const caller: KeyCaller = { kind: 'key', key: holder.key, identity, agentStatus, presented: key };
  return permitted(route, caller);
}

/** Returns the caller. Throws FORBIDDEN where it may not use the route; the pipeline judges calls. */
function permitted(route: Route, caller: KeyCaller | SessionCaller): Caller {
  const { access } = route;
  if (caller.kind === 'admin') {
    // The answer is no 401, since the session stands, and a page would ask to sign in again.
    if (route.isForKeys) throw new GatewayError('FORBIDDEN', 'This is for keys; sign in with one.');
  } else if (access === 'secret') demand(caller.key, ['admin']);
  else if (typeof access !== 'string') demand(caller.key, access);
  else if (!isForAnyKey(access)) demand(caller.key, [access]);
  if (caller.kind !== 'admin' && route.isForSecret)
    throw new GatewayError('FORBIDDEN', 'No key can do this; use the admin secret.');
  if (caller.kind === 'key' && caller.agentStatus === 'suspended' && isChange(route))
    throw new GatewayError(
      'FORBIDDEN',
      'The agent of the key is suspended: until it is reactivated, its keys change nothing.',
    );
  return caller;
}

const isForAnyKey = (access: Route['access']): access is 'public' | 'key' | 'session' | 'call' =>
  access === 'public' || access === 'key' || access === 'session' || access === 'call';

/**
 * Tells whether the route changes more than what its caller may see. A suspended agent must not have the rules,
 * the keys and the approvals of others. While all agents of a tenant are suspended, people still use theirs.
 */
function isChange({ method, access }: Route): boolean {
  if (method === 'GET' || (typeof access === 'string' && isForAnyKey(access))) return false;
  const permissions = typeof access === 'string' ? [access] : access;
  return !permissions.some((it) => it === 'scan' || it.endsWith(':read'));
}

/**
 * Returns the admin if a text that is no key is the admin secret; throws otherwise. The text is compared only
 * while its address may still try.
 */
function asAdmin(gate: Gate, route: Route, text: string, { clientAddress, nowMs }: SessionRequest): Caller {
  if (text === '') {
    gate.throttles.note('api', 'missing');
    throw invalidKey();
  }
  if (route.access === 'secret' && gate.config.control.adminSecret === null)
    throw new GatewayError('NOT_FOUND', 'Without an admin secret there is no such endpoint.');
  const throttle = route.isForKeys ? gate.throttles.keys : gate.throttles.adminSecret;
  throttle.check(clientAddress, nowMs, 'api');
  if (!route.isForKeys && isAdminSecret(text, gate.config.control.adminSecret)) return { kind: 'admin' };
  throttle.failed(clientAddress, nowMs, {
    entrance: 'api',
    reason: route.isForKeys ? 'malformed' : 'secret',
  });
  // It is said of every text, so that nobody learns which one is the admin secret.
  throw route.isForKeys
    ? new GatewayError('INVALID_KEY', `${invalidKey().message} The admin secret is no key.`)
    : invalidKey();
}

/**
 * Tells whether a text is the admin secret; never where there is none. It compares digests, which takes
 * constant time whatever the lengths.
 */
function isAdminSecret(presented: string, secret: string | null): boolean {
  if (secret === null) return false;
  return timingSafeEqual(hash('sha256', presented, 'buffer'), hash('sha256', secret, 'buffer'));
}
