import { randomUUID } from 'node:crypto';
import t from 'tap';
import { send } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { gitlabToken } from '../support/secrets.ts';
import { admin, decide, pay, pending, rules, scanOf, startHolding } from './held.ts';

t.test('an approved call is let through once, a denied one is denied without asking again', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const scan = async (body: unknown) => (await gateway.api('POST', '/v1/scan', scanOf(body))).body;
  const held = await scan({ amount: 1 });
  t.equal(held.decision, 'REQUIRE_APPROVAL');
  t.equal(
    (await scan({ amount: 1 })).approval_id,
    held.approval_id,
    'while it is pending it is the same one',
  );
  t.equal((await decide(gateway, held.approval_id, 'approved')).status, 200);
  t.match(await scan({ amount: 2 }), { decision: 'REQUIRE_APPROVAL' }, 'another body is another call');
  t.match(await scan({ amount: 1 }), { decision: 'ALLOW', reason_codes: ['RECENT_APPROVAL_GRANT'] });
  t.match(await scan({ amount: 1 }), { decision: 'REQUIRE_APPROVAL' }, 'the grant was for one call');

  const other = await scan({ amount: 3 });
  await decide(gateway, other.approval_id, 'denied');
  t.match(await scan({ amount: 3 }), { decision: 'DENY', reason_codes: ['RECENT_APPROVAL_DENIAL'] });
});

/** Calls that servers may take for another one than the call before them. */
const aws = (target: string) => ({
  method: 'POST',
  url: 'https://dynamodb.eu-west-1.amazonaws.com/',
  headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `DynamoDB_20120810.${target}` },
  body: { TableName: 'orders' },
});
const twins: readonly [name: string, asked: object, other: object][] = [
  ['does another operation by a header', aws('GetItem'), aws('DeleteTable')],
  ['names another method', pay, { ...pay, headers: { ...pay.headers, 'x-http-method-override': 'DELETE' } }],
  [
    'names another method in another spelling',
    pay,
    { ...pay, headers: { ...pay.headers, X_HTTP_Method: 'PUT' } },
  ],
  ['names another URL', pay, { ...pay, headers: { ...pay.headers, 'x-original-url': '/elsewhere' } }],
  ['has its body read in another way', { ...pay, body: 'a=1' }, { ...pay, headers: {}, body: 'a=1' }],
  ['has another fragment', { ...pay, url: `${pay.url}#one` }, { ...pay, url: `${pay.url}#two` }],
  ['is made in another environment', pay, { ...pay, agent_id: undefined, env: 'staging' }],
];

t.test('a grant lets out no call that', async (t) => {
  const tenants = [{ id: 'acme', plan: 'enterprise', environments: ['production', 'staging'] }];
  const gateway = await startTestGateway(t, { config: { tenants } });
  await gateway.apply([{ ...rules[0], match: {} }]);
  const { key } = await gateway.mint({ env_names: ['staging'] });
  const scan = async (call: object) => (await gateway.api('POST', '/v1/scan', call, `Bearer ${key}`)).body;
  for (const [name, asked, other] of twins) {
    const held = await scan(asked);
    await decide(gateway, held.approval_id, 'approved');
    t.not((await scan(other)).decision, 'ALLOW', name);
    t.match(await scan(asked), { decision: 'ALLOW' }, `${name}, but the call itself`);
  }
});

t.test('whoever decides sees the fragment of a URL', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const { body: held } = await gateway.api('POST', '/v1/scan', { ...pay, url: `${pay.url}#all-of-it` });
  const { body } = await gateway.api('GET', `/v1/approvals/${held.approval_id}`, undefined, admin);
  t.equal(body.url, `${pay.url}#all-of-it`);
});

t.test(
  'a denial stands for the call of whatever agent the key names, a grant for the agent that asked',
  async (t) => {
    const gateway = await startTestGateway(t);
    await gateway.apply(rules);
    const scanAs = async (agent_id: string, body: unknown) =>
      (await gateway.api('POST', '/v1/scan', { ...scanOf(body), agent_id })).body;
    const denied = await scanAs(randomUUID(), { amount: 1 });
    await decide(gateway, denied.approval_id, 'denied');
    t.match(await scanAs(randomUUID(), { amount: 1 }), { reason_codes: ['RECENT_APPROVAL_DENIAL'] });
    const { key } = await gateway.mint({ default_agent_id: randomUUID() });
    const { body: ofOther } = await gateway.api(
      'POST',
      '/v1/scan',
      { ...pay, agent_id: undefined },
      `Bearer ${key}`,
    );
    t.match(ofOther, { decision: 'REQUIRE_APPROVAL' }, 'another key asks for itself');

    const [first, second] = [randomUUID(), randomUUID()];
    const granted = await scanAs(first, { amount: 2 });
    await decide(gateway, granted.approval_id, 'approved');
    t.match(await scanAs(second, { amount: 2 }), { decision: 'REQUIRE_APPROVAL' });
    t.match(await scanAs(first, { amount: 2 }), { decision: 'ALLOW' });
  },
);

t.test('a policy that denies wins over a grant', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const { body: held } = await gateway.api('POST', '/v1/scan', scanOf({ amount: 1 }));
  await decide(gateway, held.approval_id, 'approved');
  await gateway.apply([{ ...rules[0], action: 'DENY' }], 'stop');
  const { body } = await gateway.api('POST', '/v1/scan', scanOf({ amount: 1 }));
  t.match(body, { decision: 'DENY', policy_name: 'stop' });
});

t.test('beside a sanitizing rule an approved call goes out sanitized', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.apply(rules);
  const sanitize = {
    rule_id: 'cut',
    match: {},
    condition: { has_data_class: ['SECRETS'] },
    action: 'SANITIZE',
  };
  await gateway.apply([sanitize], 'cut');
  const secret = gitlabToken();
  const body = { text: `the key is ${secret}` };
  const { body: held } = await gateway.api('POST', '/v1/scan', scanOf(body));
  t.equal(held.decision, 'REQUIRE_APPROVAL');
  await decide(gateway, held.approval_id, 'approved');
  const { body: sent } = await gateway.api('POST', '/v1/scan', scanOf(body));
  t.match(sent, { decision: 'SANITIZE', reason_codes: ['RECENT_APPROVAL_GRANT'] });
  t.notMatch(JSON.stringify(sent.sanitized_body), secret);
});

t.test(
  'a held call goes out exactly once when it is approved; another that waits for it asks anew',
  async (t) => {
    const { upstream, gateway, connect, call } = await startHolding(t);
    const sockets = [await connect(), await connect()] as const;
    const answers = sockets.map((socket) => send(socket, call));
    const [approval] = await pending(gateway, 1);
    await decide(gateway, approval?.approval_id ?? '', 'approved');
    const replies = await Promise.all(answers);
    t.same(replies.map((it) => it.status).sort(), [200, 403]);
    t.equal(upstream.requests.length, 1);
  },
);

t.test('who waits for an approval is answered when the daemon stops', async (t) => {
  const { gateway, connect, call } = await startHolding(t);
  const held = send(await connect(), call);
  const [{ approval_id }] = (await pending(gateway, 1)) as [{ approval_id: string }];
  const asking = gateway.api('GET', `/v1/approvals/${approval_id}/wait?timeout=60`);
  // The question counts as waiting once another one is answered behind it.
  await gateway.api('GET', `/v1/approvals/${approval_id}/status`);
  await gateway.stop();
  const answered = await held;
  t.equal(answered.status, 403);
  t.match(JSON.parse(answered.body.toString()), { approval_id });
  t.match(await asking, { status: 200, body: { status: 'pending' } });
});

t.test('a held call whose client has left is not sent, and its grant stays', async (t) => {
  const { upstream, gateway, connect, call } = await startHolding(t);
  const leaving = await connect();
  send(leaving, call).catch(() => undefined);
  const [approval] = await pending(gateway, 1);
  leaving.destroy();
  const { body } = await gateway.api('POST', '/v1/scan', scanOf({ amount: 9 }));
  await decide(gateway, body.approval_id, 'denied');
  await decide(gateway, approval?.approval_id ?? '', 'approved');
  t.equal((await send(await connect(), call)).status, 200);
  t.equal(upstream.requests.length, 1);
});
