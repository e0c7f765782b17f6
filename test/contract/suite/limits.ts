import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { Test } from 'tap';
import { harmless, isoTime, type Lab, type Reply, type Tenant } from './lab.ts';

const kilobyte = 1024;

const statusesOf = async (tenant: Tenant, calls: number): Promise<number[]> => {
  const statuses = [];
  for (let n = 0; n < calls; n++) statuses.push((await tenant.scan()).status);
  return statuses;
};

/** Resources: usage. Limits. What the service does 9. Endpoints: /v1/usage. */
export async function limits(t: Test, lab: Lab): Promise<void> {
  await t.test('Resources, usage: every field', async (t) => {
    const { api, scan, admin, id } = await lab.tenant('quota-of-10');
    for (let n = 0; n < 3; n++) await scan();
    const { status, body } = await api('GET', '/v1/usage');
    t.equal(status, 200);
    t.match(body.period_start, isoTime, 'period_start');
    t.match(body.period_end, isoTime, 'period_end');
    const start = new Date(body.period_start);
    t.match(body.period_start, /^\d{4}-\d\d-01T00:00:00/, 'the period is a calendar month in UTC');
    t.equal(
      Date.parse(body.period_end),
      Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1),
      'up to the next one',
    );
    t.equal(body.scans_used, 3, 'scans_used');
    t.equal(body.scans_limit, 10, 'scans_limit');
    t.equal(body.rate_limit_hits_24h, 0, 'rate_limit_hits_24h');
    t.equal(body.current_rate_per_min, 3, 'current_rate_per_min');
    const soFar =
      (Date.now() - Date.parse(body.period_start)) /
      (Date.parse(body.period_end) - Date.parse(body.period_start));
    t.ok(Number.isInteger(body.forecast_period_total), 'forecast_period_total');
    t.ok(
      Math.abs(body.forecast_period_total - 3 / soFar) <= Math.max(1, 0.01 * (3 / soFar)),
      'which is linear',
    );
    t.match(
      await admin('GET', '/v1/usage'),
      { status: 200, body: { scans_used: 3 } },
      `with the secret, for ${id}`,
    );
    const { key } = await (await lab.tenant('foreign')).mint({ permissions: ['scan'] });
    const reply = await lab.call({ method: 'GET', path: '/v1/usage', authorization: `Bearer ${key}` });
    t.match(reply, { status: 403, body: { code: 'FORBIDDEN', detail: /usage:read/ } });
  });

  await t.test('Limits, table: scans per month of each plan', async (t) => {
    const quotas = { free: 1000, solo: 50_000, team: 200_000, pro: 1_000_000 };
    for (const [plan, scans_limit] of Object.entries(quotas)) {
      const tenant = await lab.tenant(`plan-${plan}`);
      t.match(await tenant.api('GET', '/v1/usage'), { status: 200, body: { scans_limit } }, plan);
    }
    const enterprise = await lab.tenant('plan-enterprise');
    const { body } = await enterprise.api('GET', '/v1/usage');
    t.equal(body.scans_limit, null, 'enterprise: what the contract says, and none where it says nothing');
    const contract = await lab.tenant('per-contract');
    t.match(
      await contract.api('GET', '/v1/usage'),
      { body: { scans_limit: 50 } },
      'enterprise: per contract',
    );
    const registered = await lab.tenant(`registered-${randomUUID()}`);
    t.match(
      await registered.api('GET', '/v1/usage'),
      { body: { scans_limit: 1000 } },
      'who is registered has the plan free',
    );
  });

  await t.test('Limits, table: body size per request of each plan', async (t) => {
    const sizes = { free: 256, solo: 256, team: 256, pro: 1024 };
    for (const [plan, kilobytes] of Object.entries(sizes)) {
      const limit_bytes = kilobytes * kilobyte;
      const { scan } = await lab.tenant(`plan-${plan}`);
      t.equal((await scan({ body: 'x'.repeat(limit_bytes) })).status, 200, `${plan}: ${kilobytes} KB pass`);
      t.match(
        await scan({ body: 'x'.repeat(limit_bytes + 1) }),
        {
          status: 413,
          body: { code: 'PAYLOAD_TOO_LARGE', status: 413, actual_bytes: limit_bytes + 1, limit_bytes },
        },
        `${plan}: a byte more is refused, with the actual size`,
      );
    }
    const contract = await lab.tenant('per-contract');
    const limit_bytes = 2048 * kilobyte;
    t.equal((await contract.scan({ body: 'x'.repeat(limit_bytes) })).status, 200, 'enterprise: per contract');
    t.match(await contract.scan({ body: 'x'.repeat(limit_bytes + 1) }), {
      status: 413,
      body: { limit_bytes },
    });
    const { scan, api } = await lab.tenant('large-bodies');
    t.equal(
      (await scan({ body: 'x'.repeat(300 * kilobyte) })).status,
      200,
      'Limits 9: a single limit raised on a plan',
    );
    const envelope = await api('POST', '/v1/scan', {
      method: 'GET',
      url: 'https://a.test/',
      junk: 'x'.repeat(400 * kilobyte),
    });
    t.match(envelope, { status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } }, 'the envelope may add 64 KB');
    const used = (await api('GET', '/v1/usage')).body.scans_used;
    t.equal((await scan({ body: 'x'.repeat(301 * kilobyte) })).status, 413);
    t.equal((await api('GET', '/v1/usage')).body.scans_used, used, 'what is refused is not counted');
    const few = await lab.tenant('large-and-few');
    for (let n = 0; n < 5; n++) await few.scan({ body: 'x'.repeat(257 * kilobyte) });
    t.same(await statusesOf(few, 4), [200, 200, 200, 429], 'nor has it taken from the quota');
  });

  // Four thousand calls empty the bucket of Team; a Redis knows no more of plans than the embedded state does.
  const isEmbedded = lab.state.url.startsWith('embedded:');
  const rates = { free: 60, solo: 600, ...(isEmbedded ? { team: 2000 } : {}) };
  await t.test(
    'Limits, table, 3 and 4: the rate of each plan, and a bucket of about twice that',
    async (t) => {
      const agent = new http.Agent({ keepAlive: true });
      t.teardown(() => agent.destroy());
      for (const [plan, perMinute] of Object.entries(rates)) {
        // Who is registered by the mint has the plan free.
        const { key } = await lab.tenant(plan === 'free' ? `registered-${randomUUID()}` : `plan-${plan}`);
        const { method, url } = harmless;
        const scanned = {
          method: 'POST',
          path: '/v1/scan',
          authorization: `Bearer ${key}`,
          body: { method, url },
        };
        const scan = () => lab.call({ ...scanned, agent });
        const startMs = Date.now();
        let passed = 0;
        let refused: Reply | undefined;
        while (!refused && passed < perMinute * 5) {
          const replies = await Promise.all(Array.from({ length: 40 }, scan));
          passed += replies.filter((it) => it.status === 200).length;
          refused = replies.find((it) => it.status !== 200);
        }
        const refilled = Math.ceil(((Date.now() - startMs) / 60_000) * perMinute);
        t.ok(
          passed <= perMinute * 2 + refilled,
          `${plan}: no more than the bucket holds, and what comes in meanwhile`,
        );
        // Calls that earlier sentences made of this bucket may not have come back yet.
        t.ok(passed >= perMinute * 2 - 20, `${plan}: and no fewer`);
        t.match(refused, {
          status: 429,
          body: { code: 'RATE_LIMITED', reason: 'RATE_LIMITED', status: 429 },
        });
        t.match(refused?.headers.get('retry-after'), /^[1-9]\d*$/, `${plan}: Retry-After in seconds`);
      }
    },
  );

  await t.test('Limits, table: the rate of the plan Pro', async (t) => {
    // A full bucket of it has 20,000 calls, too many for here: a small one shows how fast it fills.
    const [perMs, capacity] = [10_000 / 60_000, 50];
    const { scan } = await lab.tenant('pro-brief');
    const startMs = performance.now();
    const passes = async (): Promise<{ passed: number; isRefused: boolean }> => {
      const replies = await Promise.all(Array.from({ length: 50 }, () => scan({ body: undefined })));
      const passed = replies.filter((it) => it.status === 200).length;
      return { passed, isRefused: passed < replies.length };
    };
    let { passed } = await passes();
    const firstMs = performance.now();
    let wasRefusedMs = 0;
    let isFull = true;
    // What comes in while the bucket is full is lost, and nobody empties it while a machine is that busy.
    let mayOverflow = false;
    let asked = 0;
    while (passed < 10 * capacity) {
      const sentMs = performance.now();
      const more = await passes();
      mayOverflow ||= performance.now() - sentMs > capacity / perMs;
      asked += capacity;
      passed += more.passed;
      if (!more.isRefused) continue;
      wasRefusedMs = sentMs;
      isFull &&= passed >= capacity + (sentMs - firstMs) * perMs - 1;
    }
    t.ok(isFull || mayOverflow, 'an empty bucket has given all that came in');
    t.ok(passed <= capacity + (performance.now() - startMs) * perMs + 1, 'and no more than that');
    // A machine that is too busy asks more slowly than the bucket fills.
    const isBusy = asked < (performance.now() - firstMs) * perMs;
    t.ok(isBusy || wasRefusedMs > firstMs, 'it was emptied again and again');
  });

  await t.test('Limits, table, 7: per contract, the rate of the tenant and that of each key', async (t) => {
    const tenant = await lab.tenant('per-contract-rates');
    const keys: string[] = [];
    for (let n = 0; n < 12; n++) keys.push((await tenant.mint()).key);
    const passedBy: number[] = [];
    const startMs = Date.now();
    for (const key of keys) {
      const statuses = [];
      for (let n = 0; n < 3; n++) statuses.push((await tenant.scan({}, key)).status);
      passedBy.push(statuses.filter((it) => it === 200).length);
    }
    const total = passedBy.reduce((sum, it) => sum + it, 0);
    t.equal(passedBy[0], 2, 'a rate of one a minute for each key lets two pass at once');
    t.ok(total >= 20, 'a rate of ten a minute for all of them lets 20 pass at once');
    t.ok(
      total <= 20 + Math.ceil((Date.now() - startMs) / 6000),
      'and then what comes in: less than two for each',
    );
  });

  await t.test(
    'Endpoints, POST /v1/scan/response: takes from the rate, and not from the quota',
    async (t) => {
      const { scan, api } = await lab.tenant('answers-of-2');
      const { trace_id } = (await scan()).body;
      const answer = { trace_id, response_body: 'x', response_status: 200 };
      const statuses = [];
      for (let n = 0; n < 4; n++) statuses.push((await api('POST', '/v1/scan/response', answer)).status);
      t.equal(statuses[0], 200);
      t.ok(statuses.includes(429), 'a bucket of two, with one scan and one answer taken');
      t.equal((await api('GET', '/v1/usage')).body.scans_used, 1);
    },
  );

  await t.test('Limits 4: 429 appears only when the excess outlasts the bucket', async (t) => {
    const tenant = await lab.tenant('rate-of-3');
    const statuses = await statusesOf(tenant, 9);
    t.same(statuses.slice(0, 6), Array(6).fill(200), 'a rate of 3 lets 6 pass at once');
    t.ok(statuses.includes(429), 'and not all of 9');
    const small = await lab.tenant('rate-of-3');
    const others = await statusesOf(small, 6);
    t.ok(others.includes(429), "another key's calls are of the same bucket: a full one had let them pass");
    const hits = [...statuses, ...others].filter((it) => it === 429).length;
    const { body } = await tenant.api('GET', '/v1/usage');
    t.equal(body.rate_limit_hits_24h, hits, 'rate_limit_hits_24h counts the refusals');
    t.equal(body.scans_used, 15 - hits, 'which are not counted otherwise');
  });

  await t.test('Limits 5: after 100% of the quota, 429 QUOTA_EXCEEDED', async (t) => {
    const tenant = await lab.tenant('quota-of-3');
    t.same(await statusesOf(tenant, 5), [200, 200, 200, 429, 429]);
    await tenant.apply([{ rule_id: 'r', action: 'OPEN_INCIDENT' }]);
    const over = await tenant.scan();
    t.match(
      over,
      { status: 429, body: { code: 'QUOTA_EXCEEDED', reason: 'QUOTA_EXCEEDED' } },
      'reported as reason',
    );
    const { period_end } = (await tenant.api('GET', '/v1/usage')).body;
    const endsMs = Date.now() + Number(over.headers.get('retry-after')) * 1000;
    t.match(over.headers.get('retry-after'), /^[1-9]\d*$/, 'Retry-After in seconds');
    t.ok(Math.abs(endsMs - Date.parse(period_end)) < 60_000, 'until the next billing period');
    t.notOk('decision' in over.body || 'risk_score' in over.body, 'no policy or risk run');
    t.same((await tenant.admin('GET', '/v1/incidents')).body.items, [], 'so nothing was opened');
    t.match(
      await tenant.api('GET', '/v1/usage'),
      { body: { scans_used: 3, scans_limit: 3 } },
      'refusals are not counted',
    );
    const overage = await lab.tenant('overage-after-2');
    t.same(await statusesOf(overage, 4), [200, 200, 200, 200], 'with overage, calls go on');
    t.match(await overage.api('GET', '/v1/usage'), { body: { scans_used: 4, scans_limit: 2 } });
  });

  await t.test('Events 5: usage alerts at 80, 90 and 100% of the quota, once each', async (t) => {
    const tenant = await lab.tenant('quota-of-10');
    const used = (await tenant.api('GET', '/v1/usage')).body.scans_used;
    await statusesOf(tenant, 12 - used);
    const { body } = await tenant.admin('GET', '/v1/audit?limit=1000');
    const alerts = body.items?.filter((it: { kind: string }) => it.kind === 'usage.threshold') ?? [];
    const text = JSON.stringify(alerts);
    for (const percent of [80, 90, 100]) t.match(text, new RegExp(`\\b${percent}\\b`), `${percent}%`);
    t.equal(alerts.length, 3, 'once each');
  });

  await t.test('Limits 6: what is not counted against the rate', async (t) => {
    const { api, admin, keyId } = await lab.tenant('burst-of-2');
    const paths = [
      '/v1/keys',
      `/v1/keys/${keyId}`,
      `/v1/keys/${keyId}/audit`,
      '/v1/usage',
      '/v1/traces',
      '/v1/policies',
    ];
    for (const path of paths) {
      const statuses = new Set<number>();
      for (let n = 0; n < 6; n++) statuses.add((await api('GET', path)).status);
      t.same([...statuses], [200], `GET ${path.replace(keyId, '…')}`);
    }
    t.equal((await admin('GET', '/v1/audit')).status, 200);
  });

  await t.test('Limits 2: the replay window', async (t) => {
    const { key, mint } = await lab.tenant('replay');
    const seconds = () => Math.floor(Date.now() / 1000);
    const send = (headers: Readonly<Record<string, string>>, one = key) =>
      lab.call({
        method: 'POST',
        path: '/v1/scan',
        authorization: `Bearer ${one}`,
        body: { method: 'GET', url: 'https://a.test/' },
        headers,
      });
    const stamped = (nonce: string, at = seconds()) => ({
      'X-Service-Timestamp': String(at),
      'X-Service-Nonce': nonce,
    });
    const nonce = randomUUID();
    t.equal((await send(stamped(nonce))).status, 200, 'a new nonce');
    t.match(await send(stamped(nonce)), { status: 409, body: { code: 'REPLAYED' } }, 'the same again');
    t.equal((await send(stamped(nonce), (await mint()).key)).status, 200, 'a nonce is unique per key');
    t.match(
      await send(stamped(randomUUID(), seconds() - 120)),
      { status: 409, body: { code: 'REPLAYED' } },
      'too old',
    );
    t.match(
      await send(stamped(randomUUID(), seconds() + 120)),
      { status: 409, body: { code: 'REPLAYED' } },
      'too new',
    );
    t.equal((await send(stamped(randomUUID(), seconds() - 30))).status, 200, 'within 60 seconds');
    const bad: readonly Readonly<Record<string, string>>[] = [
      { 'X-Service-Timestamp': String(seconds()) },
      { 'X-Service-Nonce': randomUUID() },
      stamped('short'),
      stamped('x'.repeat(129)),
      { 'X-Service-Timestamp': 'now', 'X-Service-Nonce': randomUUID() },
    ];
    for (const headers of bad)
      t.match(await send(headers), { status: 400, body: { code: 'VALIDATION_FAILED' } });
    const strict = await mint({ require_nonce: true });
    t.match(
      await send({}, strict.key),
      { status: 400, body: { code: 'VALIDATION_FAILED' } },
      'require_nonce demands them',
    );
    t.equal((await send(stamped(randomUUID()), strict.key)).status, 200);
    const burnt = randomUUID();
    const bare = (await mint({ permissions: ['usage:read'] })).key;
    t.equal((await send(stamped(burnt), bare)).status, 403);
    t.match(await send(stamped(burnt), bare), { status: 409 }, 'a refused call burns the nonce');
    const apply = (nonce: string) =>
      lab.call({
        method: 'POST',
        path: '/v1/policies/validate',
        authorization: `Bearer ${key}`,
        body: { name: 'n', rules: [{ rule_id: 'r', action: 'DENY' }] },
        headers: stamped(nonce),
      });
    const applied = randomUUID();
    t.same([(await apply(applied)).status, (await apply(applied)).status], [200, 409], 'on any POST of /v1');
    const made = await mint({ require_nonce: true, permissions: ['policies:write'] });
    const archive = (headers: Readonly<Record<string, string>>) =>
      lab.call({
        method: 'DELETE',
        path: '/v1/policies/by-name/none',
        authorization: `Bearer ${made.key}`,
        headers,
      });
    const archived = stamped(randomUUID());
    t.same(
      [(await archive({})).status, (await archive(archived)).status, (await archive(archived)).status],
      [400, 404, 409],
      'and on whatever changes something',
    );
    const race = randomUUID();
    const replies = await Promise.all(Array.from({ length: 20 }, () => send(stamped(race))));
    t.equal(replies.filter((it) => it.status === 200).length, 1, 'of twenty at once one passes');
  });
}
