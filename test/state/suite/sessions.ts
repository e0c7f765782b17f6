import { randomBytes } from 'node:crypto';
import { newId } from '../../../src/core/ids.ts';
import {
  idleEndOf,
  sessionIdleMs,
  sessionLifeMs,
  sessionsMax,
  sessionsPerSecretMax,
} from '../../../src/state/rules/sessions.ts';
import type { SessionRecord } from '../../../src/state/store.ts';
import { noonMs } from '../records.ts';
import type { SuitePart } from './lab.ts';

const hex = (): string => randomBytes(32).toString('hex');

const sessionRecord = (tenantId: string, fields: Partial<SessionRecord> = {}): SessionRecord => ({
  sessionId: newId(),
  tenantId,
  tokenHash: hex(),
  holder: 'key',
  secretHash: hex(),
  subject: 'iv_live_0abc',
  clientAddress: '198.51.100.7',
  createdAtMs: noonMs,
  seenAtMs: fields.createdAtMs ?? noonMs,
  ...fields,
});

/** Sessions of the console. */
export const sessions: SuitePart = async (t, { store, hints, ...lab }) => {
  await t.test('a session is its tenant’s until it is ended, once', async (t) => {
    const acme = await lab.tenant();
    const other = await lab.tenant();
    const { tenantId } = acme;
    const session = sessionRecord(tenantId);
    const { sessionId } = session;
    t.equal(await store.sessionById(tenantId, sessionId), undefined);
    await store.addSession(session, acme.event({ kind: 'session.opened' }));
    t.same(await store.sessionById(tenantId, sessionId), session);
    t.same(await store.listSessions(tenantId, noonMs), [session]);
    t.equal(await store.sessionById(other.tenantId, sessionId), undefined);
    t.equal(await store.endSession(other.tenantId, sessionId, other.event()), false);
    for (const id of ['', 'added', '__proto__', newId()]) {
      t.equal(await store.endSession(tenantId, id, acme.event()), false);
      await store.touchSession(tenantId, id, noonMs + 1);
    }
    t.same(await store.listSessions(tenantId, noonMs), [session]);

    const ends = Array.from({ length: 5 }, () => store.endSession(tenantId, sessionId, acme.event()));
    t.same((await Promise.all(ends)).filter(Boolean), [true]);
    t.equal(await store.sessionById(tenantId, sessionId), undefined);
    t.match(
      await store.verifyAudit(tenantId),
      { ok: true, entries: 2 },
      'what changes nothing leaves no entry',
    );
    t.match(await store.verifyAudit(other.tenantId), { ok: true, entries: 0 });
  });

  await t.test('a session does not last longer because the clock is set back', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const session = sessionRecord(tenantId, { createdAtMs: noonMs + sessionLifeMs });
    await store.addSession(session, acme.event({ kind: 'session.opened' }));
    t.same(await store.listSessions(tenantId, session.createdAtMs - 60_000), [session], 'another node');
    t.same(await store.listSessions(tenantId, noonMs), []);
  });

  await t.test('use keeps a session, though not for ever', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const session = sessionRecord(tenantId);
    const { sessionId } = session;
    await store.addSession(session, acme.event());
    const live = async (nowMs: number) => (await store.listSessions(tenantId, nowMs)).length === 1;
    t.ok(await live(noonMs + sessionIdleMs - 1));
    t.notOk(await live(noonMs + sessionIdleMs));
    let nowMs = noonMs;
    while (nowMs < noonMs + sessionLifeMs) {
      t.ok(await live(nowMs));
      await store.touchSession(tenantId, sessionId, nowMs);
      nowMs += sessionIdleMs - 1;
    }
    t.notOk(await live(noonMs + sessionLifeMs));
    await store.touchSession(tenantId, sessionId, noonMs);
    const standing = await store.sessionById(tenantId, sessionId);
    t.equal(standing && idleEndOf(standing), noonMs + sessionLifeMs, 'a slower clock takes nothing back');

    const touches = Array.from({ length: 10 }, (_, at) =>
      store.touchSession(tenantId, sessionId, nowMs + at),
    );
    await Promise.all([...touches, store.endSession(tenantId, sessionId, acme.event()), ...touches]);
    await store.touchSession(tenantId, sessionId, nowMs + 99);
    t.equal(await store.sessionById(tenantId, sessionId), undefined, 'one that was ended stays so');
  });

  await t.test('sessions are bounded, and those that were used longest ago make room', async (t) => {
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const secretHash = hex();
    const add = (fields: Partial<SessionRecord>) =>
      store.addSession(sessionRecord(tenantId, fields), acme.event());
    const first = sessionRecord(tenantId, { secretHash });
    await store.addSession(first, acme.event());
    for (let at = 1; at < sessionsPerSecretMax; at += 1) await add({ secretHash, createdAtMs: noonMs + at });
    const stranger = sessionRecord(tenantId, { createdAtMs: noonMs - 1 });
    await store.addSession(stranger, acme.event());
    await store.touchSession(tenantId, first.sessionId, noonMs + 1_000);
    const list = async () => (await store.listSessions(tenantId, noonMs + 2_000)).map((it) => it.sessionId);
    const before = await list();
    t.equal(before.length, sessionsPerSecretMax + 1);
    await add({ secretHash, createdAtMs: noonMs + 1_500 });
    const after = await list();
    t.equal(after.length, sessionsPerSecretMax + 1, 'one went');
    t.ok(after.includes(first.sessionId) && after.includes(stranger.sessionId), 'not one that is used');

    const many = await lab.tenant();
    await Promise.all(
      Array.from({ length: sessionsMax + 5 }, (_, at) =>
        store.addSession(sessionRecord(many.tenantId, { createdAtMs: noonMs + at }), many.event()),
      ),
    );
    const listed = await store.listSessions(many.tenantId, noonMs + 2_000);
    t.equal(listed.length, sessionsMax);
    t.ok(listed.every((it, at) => at === 0 || it.createdAtMs <= (listed[at - 1]?.createdAtMs ?? 0)));
    const late = sessionRecord(many.tenantId, { createdAtMs: noonMs + sessionLifeMs * 2 });
    await store.addSession(late, many.event());
    t.same(await store.listSessions(many.tenantId, noonMs), [], 'what has ended is gone');
    t.same(await store.listSessions(many.tenantId, late.createdAtMs), [late]);
  });

  await t.test('on whatever node a session is ended, no other one has it', async (t) => {
    if (!hints.openNode) return;
    const other = await hints.openNode();
    t.teardown(() => other.close());
    const acme = await lab.tenant();
    const { tenantId } = acme;
    const session = sessionRecord(tenantId);
    await store.addSession(session, acme.event());
    t.same(await other.sessionById(tenantId, session.sessionId), session);
    await store.touchSession(tenantId, session.sessionId, noonMs + 7);
    t.match(await other.sessionById(tenantId, session.sessionId), { seenAtMs: noonMs + 7 });
    await store.endSession(tenantId, session.sessionId, acme.event());
    t.equal(await other.sessionById(tenantId, session.sessionId), undefined);

    const secretHash = hex();
    const adds = Array.from({ length: 40 }, (_, at) =>
      (at % 2 ? store : other).addSession(
        sessionRecord(tenantId, { secretHash, createdAtMs: noonMs + at }),
        acme.event(),
      ),
    );
    await Promise.all(adds);
    t.equal((await store.listSessions(tenantId, noonMs)).length, sessionsPerSecretMax);
  });
};
