import { z } from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import { newId } from '../../../core/ids.ts';
import type { Gate } from '../../../decision/gate.ts';
import { idleEndOf, sessionLifeMs } from '../../../state/rules/sessions.ts';
import type { SessionRecord } from '../../../state/store.ts';
import type { FieldsByName } from '../../../wire/http1/field.ts';
import { authenticate } from '../../authenticate.ts';
import { idOf, missing, ofTenant, time, toIso } from '../../fields/fields.ts';
import { shown } from '../../fields/shown.ts';
import { type Caller, operatorOf, RawAnswer, type Route, routesOf } from '../../route.ts';
import {
  csrfTokenOf,
  newSessionToken,
  readCookie,
  type SessionCookie,
  setCookie,
  tokenHashOf,
} from '../../session/cookie.ts';
import { maySignIn, permissionsOf, roleOf, roles } from '../../session/role.ts';
import { refuseForeign } from '../../session/same-origin.ts';
import { adminSecretHash, callerOf, openSession, type SessionCaller } from '../../session/session-caller.ts';
import { tenantOf } from '../../tenant-of.ts';

/*
 * Sessions of the console. A session's cookie stands for the secret that opened it, and may always do what
 * that secret may do at the time.
 */

const route = routesOf('console');
const path = '/v1/console/sessions';

const ownSession = z
  .object({
    session_id: z.uuid(),
    csrf_token: z.string().describe('For the header x-postern-csrf of every request but GET'),
    role: z.enum(roles),
    permissions: z.array(z.string()),
    tenant_id: z.string(),
    subject: z.string().describe('The prefix of the key, or admin'),
    idle_expires_at: time,
    expires_at: time,
  })
  .meta({ id: 'ConsoleSession' });

const endsOf = (session: SessionRecord) => ({
  idle_expires_at: toIso(idleEndOf(session)),
  expires_at: toIso(session.createdAtMs + sessionLifeMs),
});

const showOwn = (session: SessionRecord, caller: SessionCaller, token: string) =>
  shown(ownSession, session, {
    csrf_token: csrfTokenOf(token),
    role: roleOf(caller),
    permissions: [...permissionsOf(caller)],
    ...endsOf(session),
  });

/** Tells whether the browser uses TLS. Only then is the cookie marked Secure: plain text never has it. */
const isSecure = (gate: Gate, headers: FieldsByName): boolean =>
  gate.config.control.tls !== null ||
  headers['x-forwarded-proto']?.toLowerCase() === 'https' ||
  headers['origin']?.toLowerCase().startsWith('https://') === true;

/** `POST /v1/console/sessions` signs in. The secret is tried as in `Authorization`, with the same limits. */
export const signIn = route(`POST ${path}`, {
  summary: 'Sign in to the console; the answer sets a cookie',
  access: 'public',
  body: z.object({ secret: z.string().trim().min(1).max(1024), ...ofTenant }),
  bodyBytesMax: 4096,
  answer: ownSession,
  status: 201,
  async handle({ gate, body, headers, clientAddress, nowMs }) {
    refuseForeign(headers, gate.config.control.names);
    const caller = await holderOf(gate, body.secret, { clientAddress, nowMs });
    // Another node may have registered the tenant.
    if (caller.kind === 'admin' && body.tenant_id) await gate.tenants.learn(body.tenant_id);
    const tenantId = tenantOf(gate, caller, body.tenant_id);
    const token = newSessionToken();
    const session: SessionRecord = {
      sessionId: newId(),
      tenantId,
      tokenHash: tokenHashOf(token),
      holder: caller.kind,
      secretHash: caller.kind === 'key' ? caller.key.hash : adminSecretHash(gate, body.secret),
      subject: operatorOf(caller),
      clientAddress,
      createdAtMs: nowMs,
      seenAtMs: nowMs,
    };
    gate.throttles.signIns.take(clientAddress, nowMs, session.secretHash);
    await endFormer(gate, headers, nowMs);
    await gate.store.addSession(session, sessionEvent(session, caller, nowMs, 'session.opened'));
    const cookie: SessionCookie = { tenantId, sessionId: session.sessionId, token };
    return RawAnswer.of(201, showOwn(session, caller, token), [
      'Set-Cookie',
      setCookie(gate, cookie, isSecure(gate, headers)),
    ]);
  },
});

/** Returns the holder of a secret. Throws where the secret does not count, or may not open a session. */
async function holderOf(
  gate: Gate,
  secret: string,
  asked: { readonly clientAddress: string; readonly nowMs: number },
): Promise<SessionCaller> {
  const presented = { ...asked, method: 'POST', headers: { authorization: `Bearer ${secret}` } };
  const caller = await authenticate(gate, anyHolder, presented).catch((error: unknown) => {
    const isWrong = error instanceof GatewayError && error.code === 'INVALID_KEY';
    throw isWrong
      ? new GatewayError('INVALID_KEY', 'This is neither the admin secret nor a valid key.')
      : error;
  });
  if (caller.kind !== 'key' && caller.kind !== 'admin')
    throw new GatewayError('INVALID_KEY', 'This is neither the admin secret nor a valid key.');
  if (caller.kind === 'key' && (caller.key.type === 'ephemeral' || caller.key.requireNonce))
    throw new GatewayError('FORBIDDEN', 'An ephemeral key, or one that needs a nonce, opens no session.');
  if (!maySignIn(caller))
    throw new GatewayError('FORBIDDEN', 'The key has no permission for the console, such as activity:read.');
  return caller;
}

/** Ends the session of the cookie that comes with a sign-in, so that none is left behind. */
async function endFormer(gate: Gate, headers: FieldsByName, nowMs: number): Promise<void> {
  const cookie = readCookie(gate, headers['cookie'] ?? '');
  const session = cookie && (await openSession(gate, cookie, nowMs));
  if (!session) return;
  const event = sessionEvent(session, undefined, nowMs, 'session.closed');
  await gate.store.endSession(session.tenantId, session.sessionId, event);
}

function sessionEvent(session: SessionRecord, by: Caller | undefined, nowMs: number, kind: string) {
  const { tenantId, sessionId: subject, subject: of, clientAddress } = session;
  const event = { tenantId, kind, subject, details: { of, client_address: clientAddress } };
  return { atMs: nowMs, operator: by ? operatorOf(by) : of, ...event };
}

/** `GET /v1/console/sessions/current` shows the cookie's session, for a page that has just been loaded. */
export const showOwnSession = route(`GET ${path}/current`, {
  summary: 'Show the session of the cookie',
  access: 'session',
  answer: ownSession,
  handle({ gate, caller, headers }) {
    const { session, token } = ownOf(gate, caller, headers);
    return showOwn(session, caller as SessionCaller, token);
  },
});

export const signOut = route(`DELETE ${path}/current`, {
  summary: 'Sign out',
  access: 'session',
  answer: z.null(),
  status: 204,
  async handle({ gate, caller, headers, nowMs }) {
    const { session } = ownOf(gate, caller, headers);
    const event = sessionEvent(session, caller, nowMs, 'session.closed');
    await gate.store.endSession(session.tenantId, session.sessionId, event);
    return RawAnswer.empty(['Set-Cookie', setCookie(gate, 'ended', isSecure(gate, headers))]);
  },
});

function ownOf(gate: Gate, caller: Caller, headers: FieldsByName): { session: SessionRecord; token: string } {
  const session = caller.kind === 'key' || caller.kind === 'admin' ? caller.session : undefined;
  const cookie = readCookie(gate, headers['cookie'] ?? '');
  if (!session || !cookie) throw new GatewayError('INVALID_KEY', 'The session has ended; sign in again.');
  return { session, token: cookie.token };
}

const publicSession = z.object({
  session_id: z.uuid(),
  subject: z.string(),
  client_address: z.string(),
  created_at: time,
  seen_at: time,
  idle_expires_at: time,
  expires_at: time,
  is_current: z.boolean(),
});

export const listSessions = route(`GET ${path}`, {
  summary: 'List the sessions of the console',
  access: 'secret',
  answer: z.object({ items: z.array(publicSession) }),
  isListing: true,
  async handle({ gate, caller, nowMs, tenantId }) {
    const own = 'session' in caller ? caller.session?.sessionId : undefined;
    const items = [];
    // The sessions of a revoked key have ended, whoever uses them.
    for (const it of await gate.store.listSessions(tenantId(), nowMs))
      if (await callerOf(gate, it, it.clientAddress, nowMs))
        items.push(shown(publicSession, it, { ...endsOf(it), is_current: it.sessionId === own }));
    return { items };
  },
});

/** `DELETE /v1/console/sessions/:session_id` ends a session, on every node from the next request on. */
export const revokeSession = route(`DELETE ${path}/:session_id`, {
  summary: 'Revoke a session of the console',
  access: 'secret',
  answer: z.null(),
  status: 204,
  async handle({ gate, caller, params, nowMs, tenantId }) {
    const sessionId = idOf(params, 'session_id', 'session');
    const session = await gate.store.sessionById(tenantId(), sessionId);
    const event = session && sessionEvent(session, caller, nowMs, 'session.revoked');
    if (!event || !(await gate.store.endSession(tenantId(), sessionId, event))) throw missing('session');
    return RawAnswer.empty();
  },
});

/** A route for whoever holds a valid key or the admin secret, on which `holderOf` tries a secret. */
const anyHolder: Route = route(`POST ${path}`, {
  summary: '',
  access: 'key',
  answer: z.null(),
  handle: () => null,
});
