import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  csrfTokenOf,
  newSessionToken,
  readCookie,
  setCookie,
  tokenHashOf,
} from '../../src/api/session/cookie.ts';
import { callerNow, sessionCaller } from '../../src/api/session/session-caller.ts';
import { newId } from '../../src/core/ids.ts';
import { peppered } from '../../src/core/key-text.ts';
import { createAuthThrottles } from '../../src/decision/auth-throttle.ts';
import type { Gate } from '../../src/decision/gate.ts';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { sessionIdleMs, sessionLifeMs } from '../../src/state/rules/sessions.ts';
import { agentRecord, auditEvent, keyRecord, noonMs } from '../state/records.ts';

const tenantId = 'acme';

/** A state with one key, and a session that it has opened at noon; whoever asks says what time it is. */
async function openLab(t: Test) {
  const dir = mkdtempSync(join(tmpdir(), 'postern-session-'));
  const store = await openEmbeddedStore({ dir });
  t.teardown(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });
  const agent = await store.ensureAgent(agentRecord());
  const key = keyRecord({ agentId: agent.agentId, permissions: ['activity:read', 'policies:write'] });
  await store.addKey(key, auditEvent());
  const token = newSessionToken();
  const sessionId = newId();
  const record = {
    sessionId,
    tenantId,
    tokenHash: tokenHashOf(token),
    holder: 'key',
    secretHash: key.hash,
    subject: key.prefix,
    clientAddress: '127.0.0.1',
    createdAtMs: noonMs,
    seenAtMs: noonMs,
  } as const;
  await store.addSession(record, auditEvent());
  const gate = {
    store,
    throttles: createAuthThrottles(),
    tenants: { learn: (id: string) => (id === tenantId ? {} : undefined) },
    hashKey: (digest: string) => digest,
    config: { control: { names: [], adminSecret: null, tls: null } },
  } as unknown as Gate;
  const cookie = setCookie(gate, { tenantId, sessionId, token }, false).split(';')[0] ?? '';
  const ask = (nowMs: number, method = 'GET') =>
    sessionCaller(gate, {
      method,
      headers: { cookie, 'x-postern-csrf': csrfTokenOf(token) },
      clientAddress: '127.0.0.1',
      nowMs,
    });
  return { store, gate, key, sessionId, token, ask };
}

const ended = { code: 'INVALID_KEY' };

t.test('a session that nobody uses ends, and one that is used ends too', async (t) => {
  const { ask } = await openLab(t);
  let nowMs = noonMs;
  for (; nowMs < noonMs + sessionLifeMs; nowMs += sessionIdleMs - 1)
    t.match(await ask(nowMs), { kind: 'key' });
  await t.rejects(ask(noonMs + sessionLifeMs), ended, 'after its life');
  const idle = await openLab(t);
  t.match(await idle.ask(noonMs + 1_000), { kind: 'key' });
  await t.rejects(idle.ask(noonMs + sessionIdleMs), ended, 'that use was too short ago to be noted');
});

t.test('what a key may do is looked up with every request', async (t) => {
  const { ask, store, gate, key, sessionId } = await openLab(t);
  const caller = await ask(noonMs, 'POST');
  t.match(caller, { kind: 'key', key: { permissions: ['activity:read', 'policies:write'] } });
  await store.updateKey(tenantId, key.keyId, { permissions: ['activity:read'] }, auditEvent());
  t.match(await ask(noonMs), { key: { permissions: ['activity:read'] } });
  await store.updateKey(tenantId, key.keyId, { expiresAtMs: noonMs + 10 }, auditEvent());
  await t.rejects(ask(noonMs + 10), ended);
  const now = (nowMs: number) => callerNow(gate, caller ?? { kind: 'anybody' }, '127.0.0.1', nowMs);
  t.match(await now(noonMs), { key: { permissions: ['activity:read'] } });
  t.equal(await now(noonMs + 10), undefined, 'for what lasts, too');
  await store.endSession(tenantId, sessionId, auditEvent());
  t.equal(await now(noonMs), undefined);
  t.equal(await callerNow(gate, { kind: 'anybody' }, '', noonMs), undefined);
});

const gateOf = (pepper: string, tls: { cert: string; key: string } | null = null) => ({
  hashKey: (digest: string) => peppered(digest, Buffer.from(pepper)),
  config: { control: { tls } } as Gate['config'],
});

t.test('a cookie is what was set, or none', (t) => {
  const gate = gateOf('a pepper');
  const cookie = { tenantId: 'a_B-9', sessionId: newId(), token: newSessionToken() };
  const set = setCookie(gate, cookie, false);
  t.match(set, /; Path=\/; HttpOnly; SameSite=Strict$/);
  const [shown = ''] = set.split(';');
  const [name = ''] = shown.split('=');
  t.same(readCookie(gate, shown), cookie);
  t.same(readCookie(gate, `x=1; ${shown};y=2`), cookie);
  const rubbish = [
    '',
    shown.slice(1),
    `${shown}x`,
    shown.replace('a_B-9', 'a.b'),
    shown.replace('a_B-9', 'é'),
  ];
  for (const it of [...rubbish, `${shown}, ${shown}`, `${name}="${shown}"`, `${name}=`])
    t.equal(readCookie(gate, it), undefined);
  const [secure = ''] = setCookie(gate, cookie, true).split(';');
  t.match(setCookie(gate, cookie, true), /^__Host-.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
  t.same(readCookie(gate, secure), cookie, 'a proxy in front may speak TLS');
  const older = setCookie(gate, { ...cookie, token: newSessionToken() }, false);
  t.same(readCookie(gate, `${older}; ${secure}`), cookie, 'the one that only TLS can set counts');
  const tls = gateOf('a pepper', { cert: 'c', key: 'k' });
  t.equal(readCookie(tls, shown), undefined, 'with TLS here no other counts');
  t.same(readCookie(tls, secure), cookie);
  const other = gateOf('the pepper of another daemon');
  t.equal(readCookie(other, shown), undefined, 'of two daemons on one host, each reads its own');
  const others = setCookie(other, { ...cookie, tenantId: 'other' }, false).split(';')[0];
  t.same(readCookie(gate, `${others}; ${shown}`), cookie);
  t.match(readCookie(other, `${others}; ${shown}`), { tenantId: 'other' });
  t.not(csrfTokenOf(cookie.token), cookie.token);
  t.not(csrfTokenOf(cookie.token), csrfTokenOf(newSessionToken()));
  t.end();
});
