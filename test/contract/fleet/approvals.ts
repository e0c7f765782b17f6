import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { until } from '../../support/redis.ts';
import { type Reply, send, type Tenant } from '../suite/lab.ts';
import { chainProblem } from './audit-chain.ts';
import { type Answer, type Caller, openCaller, openCallers } from './callers.ts';
import type { Fleet, Member } from './fleet.ts';
import { allOf } from './pages.ts';

/*
 * People and agents at several daemons at once: an approval is decided once and never again, and what was granted once passes once,
 * whoever asks wherever.
 */

export const approvalsConfig = {
  tenants: [
    { id: 'many', plan: 'enterprise' },
    { id: 'retried', plan: 'enterprise' },
    { id: 'awaited', plan: 'enterprise' },
    { id: 'brief', plan: 'enterprise', approvals: { ttl: '1s' } },
    { id: 'patient', plan: 'enterprise', approvals: { hold: '1m' } },
    { id: 'stopped', plan: 'enterprise' },
  ],
};

export async function approvals(t: Test, fleet: Fleet, count: number): Promise<void> {
  await t.test(`two analysts decide ${count} approvals at once, each of them once`, (t) =>
    many(t, fleet, count),
  );
  await t.test('of 50 identical retries one passes by a grant for one call', (t) => retried(t, fleet));
  await t.test('who waits at one daemon hears what is decided at another', (t) => awaited(t, fleet));
  await t.test('what is decided when it ends is decided or expired, never both', (t) => brief(t, fleet));
  await t.test('a held call is sent once, by whichever daemon it is approved', (t) => held(t, fleet));
  await t.test('a held call whose client is gone is not sent, and its grant stays', (t) => left(t, fleet));
  await t.test('what stops a call stops it with a grant as well', (t) => stopped(t, fleet));
}

const askFirst = [{ rule_id: 'ask', match: { methods: ['POST'] }, action: 'REQUIRE_APPROVAL' }];

interface Analyst {
  decide(approvalId: string, decision: 'approved' | 'denied', fields?: object): Promise<Reply>;
}

/** With an agent of their own, at one of the daemons. */
async function analystOf(tenant: Tenant, { controlUrl }: Member): Promise<Analyst> {
  const { key } = await tenant.mint({
    default_agent_id: randomUUID(),
    permissions: ['approvals:decide', 'activity:read'],
  });
  return {
    decide: (approvalId, decision, fields = {}) =>
      send(controlUrl, {
        method: 'POST',
        path: `/v1/approvals/${approvalId}/decision`,
        authorization: `Bearer ${key}`,
        body: { decision, ...fields },
      }),
  };
}

interface Desk {
  readonly tenant: Tenant;
  /** At the first and at the last of the daemons. */
  readonly analysts: readonly [Analyst, Analyst];
  /** Takes every daemon and entrance by turns. */
  call(asked: object): Promise<Answer>;
}

async function openDesk(t: Test, fleet: Fleet, id: string, socketsMax = 16): Promise<Desk> {
  const tenant = await fleet.tenant(id);
  const { status } = await tenant.apply(askFirst);
  t.equal(status, 200);
  const { call } = await openCallers(t, fleet, tenant.key, { socketsMax });
  const [first, last] = [fleet.members[0], fleet.members.at(-1)] as [Member, Member];
  return { tenant, analysts: [await analystOf(tenant, first), await analystOf(tenant, last)], call };
}

const pendingOf = async ({ tenant }: Desk): Promise<{ approval_id: string }[]> =>
  (await tenant.admin('GET', `/v1/approvals?status=pending&agent=${tenant.agentId}`)).body.items;

/** Opens the approval of the call; answers its id. */
async function ask(desk: Desk, asked: object): Promise<string> {
  await desk.call(asked);
  const [approval] = await pendingOf(desk);
  if (!approval) throw new Error('the call is not held');
  return approval.approval_id;
}

const countOf = <T>(items: readonly T[], isWanted: (item: T) => boolean): number =>
  items.filter(isWanted).length;

/** So many at a time. */
async function inChunks<T, U>(
  items: readonly T[],
  size: number,
  work: (item: T) => Promise<U>,
): Promise<U[]> {
  const done: U[] = [];
  for (let from = 0; from < items.length; from += size)
    done.push(...(await Promise.all(items.slice(from, from + size).map(work))));
  return done;
}

async function many(t: Test, fleet: Fleet, approvalCount: number): Promise<void> {
  const desk = await openDesk(t, fleet, 'many', 50);
  const paths = Array.from({ length: approvalCount }, (_, at) => `/pay/${at}`);
  await inChunks(paths, 100, (path) => desk.call({ path, body: { path } }));
  const opened = await allOf(desk.tenant, '/v1/approvals');
  t.equal(opened.length, approvalCount, 'each call has its own');

  const ids: string[] = opened.map((it) => it.approval_id);
  const [one, other] = desk.analysts;
  const pairs = await inChunks(ids, 50, (id) =>
    Promise.all([one.decide(id, 'approved'), other.decide(id, 'denied', { note: 'no' })]),
  );
  const statuses = pairs.map((pair) => pair.map((it) => it.status).sort((a, b) => a - b));
  t.equal(
    countOf(statuses, ([won, lost]) => won === 200 && lost === 409),
    approvalCount,
    'each is decided once',
  );
  const decided = pairs.map((pair) => pair.find((it) => it.status === 200)?.body);
  const losers = pairs.map((pair) => pair.find((it) => it.status === 409)?.body);
  t.same(
    losers.map((it) => it?.standing),
    decided.map((it) => ({ decision: it?.status, decided_at: it?.decided_at })),
    'the other is told what stands',
  );

  const listed = new Map((await allOf(desk.tenant, '/v1/approvals')).map((it) => [it.approval_id, it]));
  t.same(
    ids.map((id) => listed.get(id)),
    decided,
    'and so it stays',
  );
  const audit = await allOf(desk.tenant, '/v1/audit');
  for (const kind of ['approval.requested', 'approval.decided']) {
    const subjects = audit.filter((it) => it.kind === kind).map((it) => it.subject);
    t.same(subjects.sort(), [...ids].sort(), `${kind} is logged once each`);
  }
  t.equal(chainProblem('many', audit), undefined);
}

const retries = 50;
const rounds = 4;

async function retried(t: Test, fleet: Fleet): Promise<void> {
  const desk = await openDesk(t, fleet, 'retried');
  const { requests } = fleet.upstreams.plain;
  for (let round = 0; round < rounds; round += 1) {
    const asked = { path: `/retried/${round}`, body: { amount: round } };
    const approvalId = await ask(desk, asked);
    const before = requests.length;
    t.equal((await desk.analysts[round % 2]?.decide(approvalId, 'approved'))?.status, 200);
    const answers = await Promise.all(Array.from({ length: retries }, () => desk.call(asked)));
    const passed = answers.filter((it) => it.isAllowed);
    t.equal(passed.length, 1, 'one passes');
    t.match(passed[0], { decision: 'ALLOW', reasons: ['RECENT_APPROVAL_GRANT'] });
    t.equal(
      requests.length - before,
      countOf(passed, (it) => it.entrance === 'forward'),
    );
    t.equal(
      countOf(answers, (it) => it.decision === 'REQUIRE_APPROVAL'),
      retries - 1,
    );
    const pending = await pendingOf(desk);
    t.equal(pending.length, 1, 'the others wait for one and the same');
    await desk.analysts[0].decide(pending[0]?.approval_id ?? '', 'denied');
    const { body: trace } = await desk.tenant.admin('GET', `/v1/traces/${passed[0]?.traceId}`);
    t.equal(trace.approval_id, approvalId, 'the trace says by whose word');
  }
  const used = (await allOf(desk.tenant, '/v1/audit')).filter((it) => it.kind === 'approval.used');
  t.equal(used.length, rounds, 'and the audit log that it is used up');
}

async function awaited(t: Test, fleet: Fleet): Promise<void> {
  const desk = await openDesk(t, fleet, 'awaited');
  const { key } = desk.tenant;
  for (const [at, decision] of (['approved', 'denied'] as const).entries()) {
    const approvalId = await ask(desk, { body: { at } });
    const path = `/v1/approvals/${approvalId}/wait?timeout=60`;
    const waits = fleet.members.map(({ controlUrl }) =>
      send(controlUrl, { method: 'GET', path, authorization: `Bearer ${key}` }),
    );
    await desk.analysts[at]?.decide(approvalId, decision, { note: 'so be it' });
    for (const { status, body } of await Promise.all(waits))
      t.match({ status, body }, { status: 200, body: { status: decision, note: 'so be it' } });
  }
}

const briefCount = 60;

async function brief(t: Test, fleet: Fleet): Promise<void> {
  const desk = await openDesk(t, fleet, 'brief');
  const items = Array.from({ length: briefCount }, (_, at) => at);
  await inChunks(items, briefCount, (at) => desk.call({ path: `/brief/${at}`, body: { at } }));
  const opened = await allOf(desk.tenant, '/v1/approvals');
  t.equal(opened.length, briefCount);
  const replies = await Promise.all(
    opened.map(async ({ approval_id: id, expires_at }, at) => {
      // Around its end, by whatever clock.
      const waitMs = Date.parse(expires_at) - Date.now() + (at % 20) - 10;
      await new Promise((done) => setTimeout(done, Math.max(0, waitMs)));
      const [one, other] = desk.analysts;
      return { id, replies: await Promise.all([one.decide(id, 'approved'), other.decide(id, 'denied')]) };
    }),
  );
  type Entry = { kind: string; subject: string };
  const ends = async (): Promise<Entry[]> =>
    (await allOf(desk.tenant, '/v1/audit')).filter(
      (it) => it.kind === 'approval.decided' || it.kind === 'approval.expired',
    );
  await until('all have come to their end', async () => (await ends()).length >= briefCount);
  const ended = new Map((await ends()).map((it) => [it.subject, it.kind]));
  t.equal((await ends()).length, briefCount, 'each ends once');
  t.equal(ended.size, briefCount);
  for (const { id, replies: both } of replies) {
    const winner = both.find((it) => it.status === 200);
    t.equal(ended.get(id), winner ? 'approval.decided' : 'approval.expired');
    const want = winner?.body.status ?? 'expired';
    for (const it of both.filter((one) => one !== winner))
      t.match(it, { status: 409, body: { standing: { decision: want } } });
    t.equal((await desk.tenant.api('GET', `/v1/approvals/${id}/status`)).body.status, want);
  }
}

async function heldCaller(t: Test, fleet: Fleet, { tenant }: Desk, at: number): Promise<Caller> {
  const member = fleet.members[at % fleet.members.length] as Member;
  return openCaller(t, 'tunnel', { fleet, member, key: tenant.key });
}

async function held(t: Test, fleet: Fleet): Promise<void> {
  const desk = await openDesk(t, fleet, 'patient');
  const { requests } = fleet.upstreams.secure;
  for (let round = 0; round < 2; round += 1) {
    const before = requests.length;
    const asked = { path: `/held/${round}`, body: { round } };
    const callers = await Promise.all([0, 1, 2].map((at) => heldCaller(t, fleet, desk, at)));
    const answers = callers.map((it) => it.call(asked));
    await until('it is held', async () => (await pendingOf(desk)).length === 1);
    const [approval] = await pendingOf(desk);
    const approvalId = approval?.approval_id ?? '';
    t.equal((await desk.analysts[round]?.decide(approvalId, 'approved'))?.status, 200);
    await until('one has gone out', async () => requests.length > before);
    // Those who had the same approval ask anew, and are told so.
    const got = await Promise.all(answers);
    t.equal(
      countOf(got, (it) => it.isAllowed),
      1,
    );
    t.equal(requests.length - before, 1, 'sent exactly once');
    for (const it of got.filter((one) => !one.isAllowed))
      t.match(it, { status: 403, code: 'APPROVAL_REQUIRED', retryAfter: '5' });
    for (const { approval_id: id } of await pendingOf(desk)) await desk.analysts[0].decide(id, 'denied');
  }
}

async function left(t: Test, fleet: Fleet): Promise<void> {
  const desk = await openDesk(t, fleet, 'patient');
  const { requests } = fleet.upstreams.secure;
  const before = requests.length;
  const asked = { path: '/left', body: { left: true } };
  const leaving = await heldCaller(t, fleet, desk, 0);
  const answer = leaving.call(asked).catch(() => 'gone');
  await until('it is held', async () => (await pendingOf(desk)).length === 1);
  leaving.leave();
  t.equal(await answer, 'gone');
  const [approval] = await pendingOf(desk);
  t.equal((await desk.analysts[1].decide(approval?.approval_id ?? '', 'approved')).status, 200);
  const again = await heldCaller(t, fleet, desk, 1);
  t.match(await again.call(asked), { status: 200, decision: 'ALLOW', reasons: ['RECENT_APPROVAL_GRANT'] });
  t.equal(requests.length - before, 1, 'nothing was sent for the one who left');
}

/** Approved and stopped at the same moment, at different daemons. */
async function stopped(t: Test, fleet: Fleet): Promise<void> {
  const desk = await openDesk(t, fleet, 'stopped');
  const { tenant, analysts, call } = desk;
  const callAll = (asked: object) => Promise.all(Array.from({ length: 8 }, () => call(asked)));
  const suspend = (verb: string) => tenant.admin('POST', `/v1/agents/${tenant.agentId}/${verb}`);
  const suspended = { path: '/suspended', body: { n: 1 } };
  const first = await ask(desk, suspended);
  await Promise.all([analysts[0].decide(first, 'approved'), suspend('suspend')]);
  for (const it of await callAll(suspended)) t.match(it, { decision: 'DENY', reasons: ['AGENT_SUSPENDED'] });
  await suspend('reactivate');
  t.equal(
    countOf(await callAll(suspended), (it) => it.isAllowed),
    1,
    'the grant has waited',
  );
  for (const { approval_id: id } of await pendingOf(desk)) await analysts[0].decide(id, 'denied');

  const forbidden = { path: '/forbidden', body: { n: 2 } };
  const second = await ask(desk, forbidden);
  await analysts[0].decide(second, 'approved', { scope: 'window' });
  t.equal(
    countOf(await callAll(forbidden), (it) => it.isAllowed),
    8,
    'for the window',
  );
  await tenant.apply([{ rule_id: 'no', match: { url_patterns: ['*/forbidden'] }, action: 'DENY' }], {
    name: 'since then',
  });
  for (const it of await callAll(forbidden)) t.match(it, { decision: 'DENY', reasons: ['POLICY_DENY'] });

  const revoked = { path: '/revoked', body: { n: 3 } };
  const third = await ask(desk, revoked);
  await Promise.all([
    analysts[0].decide(third, 'approved'),
    tenant.admin('DELETE', `/v1/keys/${tenant.keyId}`),
  ]);
  t.equal(
    countOf(await callAll(revoked), (it) => it.isAllowed),
    0,
  );
  const { key } = await tenant.mint();
  t.equal(
    countOf(await callAll({ ...revoked, key }), (it) => it.isAllowed),
    1,
    'by another key of the agent',
  );
}
