import { hash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../core/errors.ts';
import type { Gate } from '../../decision/gate.ts';
import { isAddressAllowed } from '../../state/rules/admission.ts';
import { hasSessionEnded, sessionTouchMs } from '../../state/rules/sessions.ts';
import type { SessionRecord } from '../../state/store.ts';
import type { FieldsByName } from '../../wire/http1/field.ts';
import type { Caller } from '../route.ts';
import { csrfHeader, csrfTokenOf, readCookie, type SessionCookie, tokenHashOf } from './cookie.ts';
import { refuseForeign } from './same-origin.ts';

/** The part of a request that matters for its session. */
export interface SessionRequest {
  readonly method: string;
  readonly headers: FieldsByName;
  readonly clientAddress: string;
  readonly nowMs: number;
}

/** A caller that may have a session. What its secret may do now is for the route to ask. */
export type SessionCaller = Extract<Caller, { kind: 'key' | 'admin' }>;

/**
 * Returns the caller whose cookie stands in the request; undefined where none does. Throws where the session
 * has ended, or its secret does not count any more. Also throws where another site may have sent the request.
 */
export async function sessionCaller(gate: Gate, request: SessionRequest): Promise<SessionCaller | undefined> {
  const { method, headers, clientAddress, nowMs } = request;
  const cookie = readCookie(gate, headers['cookie'] ?? '');
  if (!cookie) return undefined;
  refuseForeign(headers, gate.config.control.names);
  const session = await openSession(gate, cookie, nowMs);
  if (!session) {
    gate.throttles.keys.failed(clientAddress, nowMs, { entrance: 'api', reason: 'session' });
    throw ended();
  }
  if (method !== 'GET' && !isEqual(headers[csrfHeader] ?? '', csrfTokenOf(cookie.token)))
    throw new GatewayError(
      'FORBIDDEN',
      `CSRF: send the csrf_token of the session as ${csrfHeader}; GET /v1/console/sessions/current has it.`,
    );
  const caller = await callerOf(gate, session, clientAddress, nowMs);
  if (!caller) {
    gate.throttles.note('api', 'session');
    throw ended();
  }
  if (nowMs - session.seenAtMs >= sessionTouchMs)
    await gate.store.touchSession(session.tenantId, session.sessionId, nowMs);
  return caller;
}

/** Returns the session of a cookie; undefined where its token is wrong or it has ended. */
export async function openSession(
  gate: Gate,
  { tenantId, sessionId, token }: SessionCookie,
  nowMs: number,
): Promise<SessionRecord | undefined> {
  // Strangers can make up any number of names, so the state is not asked for a tenant that does not exist.
  if (!(await gate.tenants.learn(tenantId))) return undefined;
  const session = await gate.store.sessionById(tenantId, sessionId);
  if (!session || !isEqual(session.tokenHash, tokenHashOf(token))) return undefined;
  return hasSessionEnded(session, nowMs) ? undefined : session;
}

/** Returns who holds the session now; undefined if its secret does not count any more. */
export async function callerOf(
  gate: Gate,
  session: SessionRecord,
  clientAddress: string,
  nowMs: number,
): Promise<SessionCaller | undefined> {
  const { holder, secretHash, subject } = session;
  if (holder === 'admin') {
    const { adminSecret } = gate.config.control;
    const stands = adminSecret !== null && isEqual(secretHash, adminSecretHash(gate, adminSecret));
    return stands ? { kind: 'admin', session } : undefined;
  }
  const found = await gate.store.identify(secretHash, nowMs);
  if (!found.ok || !isAddressAllowed(found, clientAddress)) return undefined;
  const presented = { prefix: subject, hash: secretHash };
  const { key, identity, agentStatus } = found;
  return { kind: 'key', key, identity, agentStatus, presented, session };
}

/** Returns the caller of a long request as its session and secret are now; undefined where it must end. */
export async function callerNow(
  gate: Gate,
  caller: Caller,
  clientAddress: string,
  nowMs: number,
): Promise<SessionCaller | undefined> {
  if (caller.kind !== 'key' && caller.kind !== 'admin') return undefined;
  const { session } = caller;
  if (!session) {
    if (caller.kind === 'admin') return caller;
    const found = await gate.store.identify(caller.presented.hash, nowMs);
    const isHere = found.ok && isAddressAllowed(found, clientAddress);
    return isHere
      ? { ...caller, key: found.key, identity: found.identity, agentStatus: found.agentStatus }
      : undefined;
  }
  const standing = await gate.store.sessionById(session.tenantId, session.sessionId);
  if (!standing || hasSessionEnded(standing, nowMs)) return undefined;
  return callerOf(gate, standing, clientAddress, nowMs);
}

/**
 * Returns the hash of the admin secret, made as the hashes of keys are. Without the pepper, a stolen state
 * does not tell whether a guess is right.
 */
export const adminSecretHash = (gate: Gate, secret: string): string => gate.hashKey(hash('sha256', secret));

const isEqual = (one: string, other: string): boolean =>
  timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));

const ended = (): GatewayError => new GatewayError('INVALID_KEY', 'The session has ended; sign in again.');
