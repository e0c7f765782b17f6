import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { until } from '../../support/redis.ts';
import { type Answer, type Entrance, openCallers } from './callers.ts';
import type { Fleet } from './fleet.ts';
import { allOf } from './pages.ts';

/* Limits and counters while a thousand calls come at once: exact on one daemon and on four. */

const parallel = 1_000;

export const exactnessConfig = {
  plans: {
    bucket: { extends: 'enterprise', scans_per_minute: 600, burst: 1_200 },
    quota: { extends: 'enterprise', scans_per_month: 1_000 },
  },
  tenants: [
    { id: 'uses', plan: 'enterprise' },
    { id: 'bucket', plan: 'bucket' },
    { id: 'quota', plan: 'quota' },
    { id: 'held', plan: 'enterprise' },
    { id: 'counted', plan: 'enterprise' },
    { id: 'budget', plan: 'enterprise', budgets: [{ name: 'calls', daily: 150 }] },
    { id: 'applied', plan: 'enterprise' },
  ],
};

export async function exactness(t: Test, fleet: Fleet): Promise<void> {
  await t.test('an ephemeral key of 100 uses lets exactly 100 of 1,000 calls pass', (t) => uses(t, fleet));
  await t.test('a bucket gives what it holds and what flows in, and no call more', (t) => bucket(t, fleet));
  await t.test('a quota of 1,000 lets exactly 1,000 calls pass', (t) => quota(t, fleet));
  await t.test('a budget of 150 covers exactly 150 calls', (t) => budget(t, fleet));
  await t.test('applies at once give each version once, without a gap', (t) => applies(t, fleet));
  await t.test('an approval is decided once, and lets one call pass', (t) => approval(t, fleet));
  await t.test('the counters say what the clients have counted', (t) => counters(t, fleet));
}

/** Calls at once, spread over all daemons, scans and proxied calls by turns; each on a connection of its own where there are so many. */
async function crowd(t: Test, fleet: Fleet, key: string): Promise<(count: number) => Promise<Answer[]>> {
  const socketsMax = Math.ceil(parallel / (fleet.members.length * 2));
  const { call } = await openCallers(t, fleet, key, { socketsMax });
  return (count) => Promise.all(Array.from({ length: count }, () => call()));
}

const countOf = <T>(items: readonly T[], isWanted: (item: T) => boolean): number =>
  items.filter(isWanted).length;
const isAllowed = (it: Answer): boolean => it.isAllowed;

/** Every answer that is no call let through is this one: by entrance, status and code. */
function onlyRefusedWith(
  t: Test,
  answers: readonly Answer[],
  wanted: Partial<Record<Entrance, string>>,
): void {
  const others = answers.filter((it) => !it.isAllowed && wanted[it.entrance] !== `${it.status} ${it.code}`);
  t.same(others.slice(0, 3), [], 'whatever does not pass is refused for this reason');
}

async function uses(t: Test, fleet: Fleet): Promise<void> {
  const tenant = await fleet.tenant('uses');
  const { key, key_id: keyId } = await tenant.ephemeral({ max_uses: 100 });
  const reached = fleet.upstreams.plain.requests.length;
  const call = await crowd(t, fleet, key);
  const answers = await call(parallel);
  t.equal(countOf(answers, isAllowed), 100, 'calls passed');
  // Outside of a tunnel an invalid key is a matter between client and proxy.
  onlyRefusedWith(t, answers, { scan: '401 INVALID_KEY', forward: '407 PROXY_AUTH_REQUIRED' });
  t.equal(
    fleet.upstreams.plain.requests.length - reached,
    countOf(answers, (it) => it.isAllowed && it.entrance === 'forward'),
    'what was refused has not reached the upstream',
  );
  t.match((await tenant.api('GET', `/v1/keys/${keyId}`)).body, {
    status: 'expired',
    expired_reason: 'max_uses',
    calls_24h: 100,
  });
  t.match((await tenant.api('GET', '/v1/usage')).body, { scans_used: 100 });
}

const capacity = 1_200;
const msPerToken = 100;

/**
 * By the clock of the bucket. At most: full at the first call, and all that has flowed in up to the last answer. At least: what was full
 * at the first call, and what flowed in from the moment when calls had made room for it until the bucket was found to be empty.
 */
async function bucket(t: Test, fleet: Fleet): Promise<void> {
  const tenant = await fleet.tenant('bucket');
  const call = await crowd(t, fleet, tenant.key);
  const startMs = await fleet.clockMs();
  const answers = await call(300);
  const roomyMs = await fleet.clockMs();
  answers.push(...(await call(1_500)));
  const emptyMs = await fleet.clockMs();
  do answers.push(...(await call(1)));
  while (answers.at(-1)?.isAllowed);
  const endMs = await fleet.clockMs();
  const passed = countOf(answers, isAllowed);
  const most = capacity + Math.floor((endMs - startMs) / msPerToken);
  const least = capacity + Math.floor((emptyMs - roomyMs) / msPerToken);
  t.ok(passed <= most, `${passed} calls passed; the bucket had no more than ${most}`);
  t.ok(passed >= least, `and no fewer than ${least}`);
  onlyRefusedWith(t, answers, { scan: '429 RATE_LIMITED', forward: '429 RATE_LIMITED' });
  const refused = answers.filter((it) => !it.isAllowed);
  t.ok(refused.length > 0 && refused.every((it) => Number(it.retryAfter) >= 1), 'Retry-After in seconds');
  t.match(
    (await tenant.api('GET', '/v1/usage')).body,
    { scans_used: passed, rate_limit_hits_24h: refused.length },
    'what passed and what was refused is counted, each in its place',
  );
}

async function quota(t: Test, fleet: Fleet): Promise<void> {
  const tenant = await fleet.tenant('quota');
  const reached = fleet.upstreams.plain.requests.length;
  const call = await crowd(t, fleet, tenant.key);
  const answers = [...(await call(parallel - 100)), ...(await call(600))];
  t.equal(countOf(answers, isAllowed), 1_000, 'calls passed');
  onlyRefusedWith(t, answers, { scan: '429 QUOTA_EXCEEDED', forward: '429 QUOTA_EXCEEDED' });
  t.equal(
    fleet.upstreams.plain.requests.length - reached,
    countOf(answers, (it) => it.isAllowed && it.entrance === 'forward'),
  );
  t.match((await tenant.api('GET', '/v1/usage')).body, { scans_used: 1_000, scans_limit: 1_000 });
  t.match((await tenant.api('GET', `/v1/keys/${tenant.keyId}`)).body, { calls_24h: 1_000 });
  const told = async (): Promise<number[]> =>
    (await allOf(tenant, '/v1/audit'))
      .filter((it) => it.kind === 'usage.threshold')
      .map((it) => it.details.percent);
  await until('three alerts', async () => (await told()).length >= 3);
  t.same((await told()).sort(), [100, 80, 90], 'each threshold is told once');
}

/** Both who decide and who call come to all daemons at once. */
async function budget(t: Test, fleet: Fleet): Promise<void> {
  const tenant = await fleet.tenant('budget');
  const rule = { rule_id: 'spent', condition: { daily_budget_exceeded: 'calls' }, action: 'DENY' };
  t.match(await tenant.apply([rule]), { status: 200 });
  const call = await crowd(t, fleet, tenant.key);
  const answers = await call(parallel);
  t.equal(countOf(answers, isAllowed), 150, 'calls passed');
  t.match((await tenant.api('GET', '/v1/usage')).body, { scans_used: parallel }, 'the others were judged');
}

async function applies(t: Test, fleet: Fleet): Promise<void> {
  const tenant = await fleet.tenant('applied');
  const rules = [{ rule_id: 'r', action: 'DENY' }];
  const times = 100;
  const replies = await Promise.all(
    Array.from({ length: times }, (_, at) => tenant.apply(rules, { name: 'p', description: `${at}` })),
  );
  const numbers = Array.from({ length: times }, (_, at) => at + 1);
  t.same(
    replies.map((it) => it.body.version).sort((a, b) => a - b),
    numbers,
  );
  const listed = await allOf(tenant, '/v1/policies/by-name/p/versions');
  t.same(
    listed.map((it) => it.version),
    numbers.toReversed(),
  );
  t.equal(new Set(listed.map((it) => it.description)).size, times, 'none is lost');
}

async function approval(t: Test, fleet: Fleet): Promise<void> {
  const tenant = await fleet.tenant('held');
  await tenant.apply([{ rule_id: 'ask', match: {}, action: 'REQUIRE_APPROVAL' }]);
  const call = await crowd(t, fleet, tenant.key);
  const pending = async () => (await tenant.admin('GET', '/v1/approvals?status=pending')).body.items;
  const held = await call(100);
  t.equal(countOf(held, isAllowed), 0);
  const asked = await pending();
  t.equal(asked.length, 1, 'identical calls wait for the same approval');
  const path = `/v1/approvals/${asked[0]?.approval_id}/decision`;
  const decided = await Promise.all(
    Array.from({ length: 40 }, () => tenant.admin('POST', path, { decision: 'approved' })),
  );
  const counted = (status: number): number => countOf(decided, (it) => it.status === status);
  t.same([counted(200), counted(409)], [1, 39], 'one decides, and the others are told');
  const answers = await call(200);
  t.equal(countOf(answers, isAllowed), 1, 'calls passed');
  t.equal((await pending()).length, 1, 'the others wait for the next decision');
}

/** Allowed and denied calls, and such as come from where they may not; by two keys of two agents. */
async function counters(t: Test, fleet: Fleet): Promise<void> {
  const tenant = await fleet.tenant('counted');
  const [otherAgent, strayAgent] = [randomUUID(), randomUUID()];
  const other = await tenant.mint({ default_agent_id: otherAgent });
  const stray = await tenant.mint({ default_agent_id: strayAgent, ip_allowlist: ['192.0.2.0/24'] });
  const deny = { rule_id: 'no', match: { url_patterns: ['*/denied'] }, action: 'DENY' };
  t.equal((await tenant.apply([deny])).status, 200);
  const { call } = await openCallers(t, fleet, tenant.key, { socketsMax: 16 });

  // One of sixteen: who keeps coming from where it may not is told to wait, and then counted no more.
  const keys = Array.from({ length: 16 }, (_, i) =>
    i === 15 ? stray.key : i % 3 === 0 ? other.key : tenant.key,
  );
  const strayCalls = 48;
  const answers = await Promise.all(
    Array.from({ length: 800 }, async (_, n) => {
      // Each key comes through every daemon and entrance.
      const key = keys[Math.floor(n / 8) % keys.length] as string;
      return { key, ...(await call({ key, path: n % 3 === 0 ? '/denied' : '/v1/items' })) };
    }),
  );
  const of = (key: string, isWanted: (it: Answer) => boolean): number =>
    countOf(answers, (it) => it.key === key && isWanted(it));
  const any = (): boolean => true;

  t.equal(
    of(stray.key, (it) => it.code === 'IP_NOT_ALLOWED'),
    strayCalls,
  );
  t.equal((await tenant.api('GET', '/v1/usage')).body.scans_used, 800 - strayCalls, 'the quota');
  const shown = async (keyId: string) => (await tenant.api('GET', `/v1/keys/${keyId}`)).body;
  t.match(await shown(tenant.keyId), { calls_24h: of(tenant.key, any), blocked_attempts: 0 }, 'a key');
  t.match(await shown(other.key_id), { calls_24h: of(other.key, any), blocked_attempts: 0 }, 'another');
  t.match(
    await shown(stray.key_id),
    { calls_24h: 0, last_seen: null, blocked_attempts: strayCalls },
    'a stray one',
  );

  // Traces, and the counters that are made of them, follow within moments.
  const traces = async (): Promise<string[]> => (await allOf(tenant, '/v1/traces')).map((it) => it.trace_id);
  await until('a list with all traces', async () => (await traces()).length >= answers.length);
  t.same((await traces()).sort(), answers.map((it) => it.traceId).sort(), 'each call has one trace');
  const owners = [
    { agentId: tenant.agentId, key: tenant.key },
    { agentId: otherAgent, key: other.key },
    { agentId: strayAgent, key: stray.key },
  ];
  for (const { agentId, key } of owners) {
    const { body } = await tenant.admin('GET', `/v1/agents/${agentId}`);
    t.equal(body.calls_total, of(key, any), 'all calls of the agent');
    t.match(body.decisions_24h, { ALLOW: of(key, isAllowed), DENY: of(key, (it) => !it.isAllowed) });
  }
}
