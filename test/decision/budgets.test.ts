import t, { type Test } from 'tap';
import { ownName } from '../../src/core/safe-name.ts';
import { ZoneDay } from '../../src/decision/budgets.ts';
import { startTestGateway } from '../support/gateway.ts';
import { nowMs, openStage } from './admit-stage.ts';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const million = 1_000_000;

/** One budget of the tenant, and what a call charges to it. */
async function openBudget(t: Test, budget: Readonly<Record<string, unknown>>) {
  const stage = await openStage(t, { budgets: [{ name: 'b', daily: 1_000, ...budget }] });
  const charge = async (fields: Parameters<typeof stage.run>[0] = {}): Promise<number> =>
    (await stage.run(fields)).charges[0]?.amount ?? 0;
  return { ...stage, charge };
}

t.test('the day of a zone begins at its midnight', (t) => {
  const cases: readonly [zone: string, at: string, day: string][] = [
    ['UTC', '2026-11-21T00:00:00.000Z', '2026-11-21'],
    ['UTC', '2026-11-20T23:59:59.999Z', '2026-11-20'],
    ['Pacific/Kiritimati', '2026-11-20T10:00:00Z', '2026-11-21'],
    ['Pacific/Kiritimati', '2026-11-20T09:59:59Z', '2026-11-20'],
    ['Etc/GMT+12', '2026-11-21T11:59:59Z', '2026-11-20'],
    ['Asia/Kathmandu', '2026-11-20T18:15:00Z', '2026-11-21'],
    ['Asia/Kathmandu', '2026-11-20T18:14:59Z', '2026-11-20'],
    // Clocks go forward at midnight: the day begins at one.
    ['Africa/Cairo', '2026-04-23T21:59:59Z', '2026-04-23'],
    ['Africa/Cairo', '2026-04-23T22:00:00Z', '2026-04-24'],
    // An hour that comes twice is in one day.
    ['America/New_York', '2026-11-01T05:30:00Z', '2026-11-01'],
    ['America/New_York', '2026-11-01T06:30:00Z', '2026-11-01'],
    ['America/New_York', '2026-11-02T04:59:59Z', '2026-11-01'],
    ['America/New_York', '2026-11-02T05:00:00Z', '2026-11-02'],
    ['Europe/Berlin', '2026-12-31T23:00:00Z', '2027-01-01'],
    ['+05:30', '2024-02-28T18:30:00Z', '2024-02-29'],
  ];
  for (const [zone, at, day] of cases) t.equal(new ZoneDay(zone).of(Date.parse(at)), day, `${zone} ${at}`);
  const clock = new ZoneDay('UTC');
  const days = ['2026-11-20T23:59:59Z', '2026-11-21T00:00:00Z', '2026-11-20T23:59:59Z'];
  t.same(
    days.map((at) => clock.of(Date.parse(at))),
    ['2026-11-20', '2026-11-21', '2026-11-20'],
    'whichever way time goes',
  );
  t.end();
});

t.test('a call charges one, its bytes, or what its body says', async (t) => {
  const body = Buffer.from('{"amount": 2.5, "ü": 1}');
  const cases = [
    { unit: 'calls', amount: 1 },
    { unit: 'bytes', amount: body.length },
    { unit: 'amount', amount_path: '$.amount', amount: 2.5 * million },
  ];
  for (const { amount, ...budget } of cases) {
    const { charge } = await openBudget(t, budget);
    t.equal(await charge({ body, contentType: json }), amount, budget.unit);
  }
});

t.test('whatever a body says, an amount is a number from 0 to the daily one', async (t) => {
  const daily = 1_000 * million;
  const cases: readonly [body: string, amount: number][] = [
    ['{"amount": 12.34}', 12.34 * million],
    ['{"amount": "12.34"}', 12.34 * million],
    ['{"amount": " +5e1 "}', 50 * million],
    ['{"amount": 0}', 0],
    ['{"amount": -5}', 0],
    ['{"amount": "-5"}', 0],
    ['{"amount": 1e308}', daily],
    ['{"amount": "1e308"}', daily],
    ['{"amount": 1e999}', daily],
    ['{"amount": "Infinity"}', daily],
    ['{"amount": "NaN"}', 0],
    ['{"amount": NaN}', daily],
    ['{"amount": 1e-300}', 1],
    ['{"amount": 0.0000001}', 1],
    ['{"amount": [5]}', 5 * million],
    ['{"amount": {"valueOf": 5}}', 0],
    ['{"amount": true}', 0],
    ['{"amount": null}', 0],
    ['{"amount": "five"}', 0],
    ['{"amount": "5 EUR"}', daily],
    ['{"amount": "5,000"}', daily],
    ['{"Amount": 5}', 5 * million],
    ['{"amount": 5, "AMOUNT": 6}', 11 * million],
    ['{"amount": ""}', 0],
    ['{"other": 5}', 0],
    ['5', 0],
    ['[{"amount": 5}]', 0],
    ['{"amount": 5', daily],
    ['{"x": 1, "x": 1, "amount": 5}', daily],
    ['', 0],
    ['{"__proto__": {"amount": 5}}', 0],
    ['{"\\u0061mount": 5}', 5 * million],
    // Each line is a payment.
    ['{"amount": 5}\n{"amount": 7}\n{"amount": 6}\n', 18 * million],
  ];
  const { charge } = await openBudget(t, { unit: 'amount', amount_path: '$.amount' });
  for (const [text, amount] of cases)
    t.equal(await charge({ body: Buffer.from(text), contentType: json }), amount, text);
  t.equal(await charge({ body: Buffer.from('amount=3&amount=9'), contentType: form }), 12 * million);
});

t.test('the numbers at a path with several places are added up', async (t) => {
  const cases: readonly [body: unknown, amount: number][] = [
    [{ items: [{ price: 1.1 }, { price: '2.2' }, { price: -100 }, { price: 'x' }, {}] }, 3.3 * million],
    [{ items: [{ price: 1e308 }, { price: 1e308 }] }, 1_000 * million],
    [{ items: Array.from({ length: 10 }, () => ({ price: 0.1 })) }, million],
    [{ items: [] }, 0],
    [{ items: { a: { price: 4 } } }, 4 * million],
  ];
  const { charge } = await openBudget(t, { unit: 'amount', amount_path: '$.items[*].price' });
  for (const [body, amount] of cases)
    t.equal(await charge({ body: Buffer.from(JSON.stringify(body)), contentType: json }), amount);
});

t.test('ten times a tenth is one', async (t) => {
  const { run } = await openBudget(t, { unit: 'amount', amount_path: '$.amount', daily: 1 });
  const payment = { body: Buffer.from('{"amount": 0.1}'), contentType: json };
  const exceeded = [];
  for (let call = 0; call < 12; call += 1) exceeded.push((await run(payment)).exceededBudgets.length);
  t.same(exceeded, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
});

t.test('one huge amount spends the day, and given back it leaves what others have spent', async (t) => {
  const { store, run } = await openBudget(t, { unit: 'amount', amount_path: '$.amount', daily: 10 });
  const pay = (amount: number) => run({ body: Buffer.from(`{"amount": ${amount}}`), contentType: json });
  await pay(9);
  const huge = await pay(1e308);
  t.same((await pay(0)).exceededBudgets, ['b']);
  store.noteCall({
    traceId: huge.traceId,
    tenantId: 'acme',
    agentId: huge.identity.agentId,
    keyId: huge.identity.keyId,
    atMs: nowMs,
    decision: 'DENY',
    outcome: 'call',
    destination: ownName(huge.destination),
    charges: huge.charges,
    line: ownName('{}'),
  });
  t.same((await pay(1)).exceededBudgets, [], 'nine of ten are spent');
  t.same((await pay(0)).exceededBudgets, ['b'], 'ten of ten');
});

t.test('a budget counts the calls that match, and is asked for with all', async (t) => {
  const cases: readonly [match: object, isCounted: boolean][] = [
    [{}, true],
    [{ tool_names: ['custom_proxy'] }, true],
    [{ tool_names: ['github'] }, false],
    [{ verbs: ['WRITE'], methods: ['post'] }, true],
    [{ methods: ['GET'] }, false],
    [{ operations: ['http_post'] }, true],
    [{ operations: ['category:http'] }, true],
    [{ url_patterns: ['https://api.test.example/'] }, true],
    [{ url_patterns: ['https://other.example/'] }, false],
    [{ agent_ids: ['5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12'] }, true],
    [{ agent_ids: ['5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c99'] }, false],
    [{ org_patterns: ['*'] }, false],
  ];
  for (const [match, isCounted] of cases) {
    const { run } = await openBudget(t, { match, daily: 1 });
    const [first, second] = [await run(), await run()];
    t.equal(first.charges.length, isCounted ? 1 : 0, JSON.stringify(match));
    t.same(second.exceededBudgets, isCounted ? ['b'] : []);
  }
  const { run } = await openStage(t, {
    budgets: [
      { name: 'posts', daily: 1, match: { methods: ['POST'] } },
      { name: 'gets', daily: 5, match: { methods: ['GET'] } },
    ],
  });
  await run({ method: 'POST' });
  t.same((await run({ method: 'GET' })).exceededBudgets, ['posts'], 'a rule may ask for another one');
});

t.test('an override of the method counts like the method', async (t) => {
  const { charge } = await openBudget(t, { match: { methods: ['DELETE'] } });
  t.equal(await charge({ method: 'POST' }), 0);
  t.equal(await charge({ method: 'POST', headers: ['X-HTTP-Method-Override', 'DELETE'] }), 1);
});

t.test('a tenant without budgets is asked for none', async (t) => {
  const { run } = await openStage(t, {});
  t.match(await run(), { charges: [], exceededBudgets: [] });
});

t.test('while the state is away no budget is known', async (t) => {
  const { run, leave } = await openStage(t, { on_failure: 'open', budgets: [{ name: 'b', daily: 1 }] });
  await run();
  t.same((await run()).exceededBudgets, ['b']);
  leave();
  t.match(await run(), { isDegraded: true, exceededBudgets: [], charges: [] });
});

t.test('through the whole gateway a budget lets out what it covers, and no more', async (t) => {
  const budgets = [{ name: 'llm', daily: 5, match: { url_patterns: ['https://llm.example/'] } }];
  const gateway = await startTestGateway(t, {
    config: { tenants: [{ id: 'acme', plan: 'enterprise', environments: ['production'], budgets }] },
  });
  const rules = [
    { rule_id: 'spent', condition: { daily_budget_exceeded: 'llm' }, action: 'DENY', reason_code: 'SPENT' },
    { rule_id: 'no-deletes', match: { methods: ['DELETE'] }, action: 'DENY' },
    { rule_id: 'ask', match: { methods: ['PUT'] }, action: 'REQUIRE_APPROVAL' },
  ];
  t.match(await gateway.apply(rules), { status: 200, body: { warnings: [] } });
  const scan = async (method: string, url = 'https://llm.example/v1') => {
    const { body } = await gateway.api('POST', '/v1/scan', { method, url, body: {} });
    return body.reason_codes?.[0] === 'SPENT' ? 'SPENT' : body.decision;
  };
  for (let call = 0; call < 6; call += 1) t.equal(await scan('DELETE'), 'DENY');
  for (let call = 0; call < 6; call += 1) t.equal(await scan('PUT'), 'REQUIRE_APPROVAL');
  t.equal(await scan('POST'), 'ALLOW', 'what was denied or is held has spent nothing');
  const asked = await Promise.all(Array.from({ length: 40 }, () => scan('POST')));
  t.equal(asked.filter((it) => it === 'ALLOW').length, 4, 'the rest of the day, whoever comes first');
  t.equal(asked.filter((it) => it === 'SPENT').length, 36);
  t.equal(
    await scan('GET', 'https://other.example/'),
    'SPENT',
    'the rule asks for the budget, wherever the call goes',
  );
  t.equal(await gateway.reload(), true);
  t.equal(await scan('POST'), 'SPENT', 'a reload gives nothing back');
});
