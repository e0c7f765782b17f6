import { createHmac, randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { testAuthority } from '../support/certificates.ts';
import { type ApiReply, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type TestUpstream, type UpstreamHandler } from '../support/upstream.ts';

const secrets = {
  acme: 'acme-signing-secret',
  globex: 'globex-signing-secret',
  all: 'common-signing-secret',
};
const path = '/v1/integrations/slack/interactions';
const call = { method: 'POST', url: 'https://api.example.org/things', body: { n: 1 } };

interface Office {
  readonly gateway: TestGateway;
  readonly slack: TestUpstream;
  /** Makes a call that needs an approval; its id. */
  hold(): Promise<string>;
  approval(id: string): Promise<ApiReply>;
}

/** Of a kind that does not happen here: what Slack gets is an answer to what was pressed. */
const noEvents = ['feed.failed'];

/** A gateway with two tenants and a Slack for each, and what stands for hooks.slack.com. */
async function openOffice(
  t: Test,
  config: Readonly<Record<string, unknown>> = {},
  handler?: UpstreamHandler,
): Promise<Office> {
  const certificate = testAuthority().issue({ names: ['hooks.slack.com'] });
  const slack = await startUpstream(t, handler, { certificate });
  const channel = (name: string, tenant: string | null, signing_secret: string | null) => ({
    name,
    type: 'slack',
    url: 'https://hooks.slack.com/services/T/B/x',
    tenant,
    signing_secret,
    allow_private: true,
    events: noEvents,
  });
  const gateway = await startTestGateway(t, {
    config: {
      tenants: [
        { id: 'acme', plan: 'enterprise', environments: ['production', 'staging'] },
        { id: 'globex', plan: 'enterprise', environments: ['production'] },
      ],
      upstream: {
        ca_files: [slack.caFile],
        resolve: [{ host: 'hooks.slack.com', address: '127.0.0.1', port: slack.port }],
      },
      notifications: [
        channel('acme-chat', 'acme', secrets.acme),
        channel('globex-chat', 'globex', secrets.globex),
        channel('common-chat', null, secrets.all),
        channel('deaf-chat', 'acme', null),
        { name: 'hook', type: 'webhook', url: 'https://hooks.slack.com/x', events: noEvents },
      ],
      ...config,
    },
  });
  await gateway.apply([{ rule_id: 'hold', match: {}, condition: {}, action: 'REQUIRE_APPROVAL' }]);
  let calls = 0;
  return {
    gateway,
    slack,
    async hold() {
      calls += 1;
      const { body } = await gateway.api('POST', '/v1/scan', { ...call, body: { n: calls } });
      return body.approval_id;
    },
    approval: (id) =>
      gateway.api('GET', `/v1/approvals/${id}?tenant_id=acme`, undefined, `Bearer ${gateway.adminSecret}`),
  };
}

interface Pressed {
  readonly actionId?: string;
  readonly value?: string;
  readonly user?: Readonly<Record<string, unknown>>;
  readonly responseUrl?: string | null;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** What Slack would send of a button. */
const payloadOf = (
  value: string,
  { actionId = 'postern_approve', user, responseUrl, more }: Pressed = {},
) => ({
  type: 'block_actions',
  user: user ?? { id: 'U0ANA', username: 'ana', name: 'ana', team_id: 'T1' },
  team: { id: 'T1', domain: 'acme' },
  api_app_id: 'A1',
  container: { type: 'message' },
  message: { text: 'HIGH: Approval needed', blocks: [] },
  response_url: responseUrl === undefined ? 'https://hooks.slack.com/actions/T1/1/abc' : responseUrl,
  actions: [{ type: 'button', action_id: actionId, block_id: 'b', value, action_ts: '1.2' }],
  ...more,
});

const formOf = (payload: unknown): string =>
  new URLSearchParams({
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  }).toString();

interface Sending {
  readonly secret?: string;
  readonly atSeconds?: number;
  readonly signature?: string;
  readonly timestamp?: string;
  readonly contentType?: string;
}

async function post(gateway: TestGateway, form: string, sending: Sending = {}): Promise<ApiReply> {
  const { secret = secrets.acme, atSeconds = Math.floor(Date.now() / 1000) } = sending;
  const { timestamp = String(atSeconds), contentType = 'application/x-www-form-urlencoded' } = sending;
  const hmac = createHmac('sha256', secret).update(`v0:${timestamp}:${form}`).digest('hex');
  const response = await fetch(new URL(path, gateway.controlUrl), {
    method: 'POST',
    headers: {
      'content-type': contentType,
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': sending.signature ?? `v0=${hmac}`,
    },
    body: form,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const press = ({ gateway }: Office, value: string, pressed: Pressed = {}, sending: Sending = {}) =>
  post(gateway, formOf(payloadOf(value, pressed)), sending);

const repliesOf = ({ slack }: Office) =>
  slack.requests.map(({ url, body }) => ({ url, ...JSON.parse(body.toString()) }));

t.test('a button decides an approval, and the one who comes second is told', async (t) => {
  const office = await openOffice(t);
  const { gateway } = office;
  const id = await office.hold();
  const waiting = gateway.api('GET', `/v1/approvals/${id}/wait?timeout=60`);
  t.match(await press(office, `acme-chat/acme/${id}`), {
    status: 200,
    body: { response_type: 'ephemeral', replace_original: false, text: 'You have approved this call.' },
  });
  t.match(await waiting, { body: { status: 'approved' } }, 'who waits is told');
  const by = 'slack:U0ANA (ana)';
  t.match(await office.approval(id), {
    body: { status: 'approved', decided_by: by, scope: 'once', note: null },
  });
  t.match(repliesOf(office), [
    {
      url: '/actions/T1/1/abc',
      replace_original: true,
      text: 'Call approved',
      blocks: [{}, {}, { fields: [{ text: `*Decided by*\n\`${by}\`` }] }],
    },
  ]);
  t.notOk(JSON.stringify(repliesOf(office)).includes('"actions"'), 'the buttons are gone');

  const bob = { id: 'U0BOB', username: 'bob' };
  const second = await press(office, `acme-chat/acme/${id}`, { actionId: 'postern_deny', user: bob });
  t.match(second, {
    status: 200,
    body: { text: /^This call is approved already by slack:U0ANA \(ana\), 20\d\d-/ },
  });
  t.match(
    await office.approval(id),
    { body: { status: 'approved', decided_by: by } },
    'the first one stands',
  );
  const [, replaced, note] = repliesOf(office);
  t.match(replaced, { replace_original: true, text: 'Call approved' });
  t.match(note, { response_type: 'ephemeral', replace_original: false, text: /already by slack:U0ANA/ });

  t.match(await gateway.api('POST', '/v1/scan', { ...call, body: { n: 1 } }), {
    body: { decision: 'ALLOW', reason_codes: ['RECENT_APPROVAL_GRANT'] },
  });
  const audit = await gateway.api(
    'GET',
    '/v1/audit?kind=approval.decided&tenant_id=acme',
    undefined,
    `Bearer ${gateway.adminSecret}`,
  );
  t.match(audit.body.items, [
    { operator: by, subject: id, details: { decision: 'approved', channel: 'acme-chat', slack_team: 'T1' } },
  ]);
  t.equal(audit.body.items.length, 1);
});

t.test('a denial counts as any other', async (t) => {
  const office = await openOffice(t);
  const { gateway } = office;
  const id = await office.hold();
  t.match(await press(office, `acme-chat/acme/${id}`, { actionId: 'postern_deny' }), {
    status: 200,
    body: { text: 'You have denied this call.' },
  });
  t.match(await gateway.api('POST', '/v1/scan', { ...call, body: { n: 1 } }), {
    body: { decision: 'DENY', reason_codes: ['RECENT_APPROVAL_DENIAL'] },
  });
  const agent = await gateway.api(
    'GET',
    `/v1/agents/${gateway.agentId}?tenant_id=acme`,
    undefined,
    `Bearer ${gateway.adminSecret}`,
  );
  t.ok(agent.body.trust_score < 1, 'and the agent is trusted less');
});

t.test('who decided over the API is named to whoever presses later', async (t) => {
  const office = await openOffice(t);
  const id = await office.hold();
  const { gateway } = office;
  const body = { tenant_id: 'acme', decision: 'denied' };
  await gateway.api('POST', `/v1/approvals/${id}/decision`, body, `Bearer ${gateway.adminSecret}`);
  t.match(await press(office, `acme-chat/acme/${id}`), {
    status: 200,
    body: { text: /denied already by admin/ },
  });
});

t.test('of many who press at once one decides', async (t) => {
  const office = await openOffice(t);
  const id = await office.hold();
  const users = Array.from({ length: 8 }, (_, at) => ({ id: `U${at}`, username: `user-${at}` }));
  const replies = await Promise.all(
    users.map((user, at) =>
      press(office, `acme-chat/acme/${id}`, {
        user,
        actionId: at % 2 === 0 ? 'postern_approve' : 'postern_deny',
        responseUrl: null,
      }),
    ),
  );
  t.ok(replies.every(({ status }) => status === 200));
  t.equal(replies.filter(({ body }) => body.text.startsWith('You have')).length, 1);
});

t.test('what Slack has not signed is refused', async (t) => {
  const office = await openOffice(t);
  const { gateway } = office;
  const id = await office.hold();
  const value = `acme-chat/acme/${id}`;
  const now = String(Math.floor(Date.now() / 1000));
  const cases: readonly [name: string, value: string, sending: Sending][] = [
    ['a wrong secret', value, { secret: 'wrong' }],
    ["another channel's secret", value, { secret: secrets.globex }],
    ['no signature', value, { signature: '' }],
    ['a short one', value, { signature: 'v0=abcd' }],
    ['one of another version', value, { signature: `v1=${'0'.repeat(64)}` }],
    ['one in capitals', value, { signature: `V0=${'A'.repeat(64)}` }],
    ['no time', value, { timestamp: '', signature: `v0=${'0'.repeat(64)}` }],
    ['a channel that is not there', `nobody/acme/${id}`, {}],
    ['a channel without a secret', `deaf-chat/acme/${id}`, {}],
    ['a channel of another type', `hook/acme/${id}`, {}],
  ];
  for (const [name, it, sending] of cases)
    t.match(await press(office, it, {}, sending), { status: 401, body: { code: 'INVALID_KEY' } }, name);
  const form = formOf(payloadOf(value));
  const signature = `v0=${createHmac('sha256', secrets.acme).update(`v0:${now}:${form}`).digest('hex')}`;
  const changed = `${form}&x=1`;
  t.match(await post(gateway, changed, { timestamp: now, signature }), { status: 401 }, 'one byte more');
  const otherTime = String(Number(now) + 1);
  t.match(await post(gateway, form, { timestamp: otherTime, signature }), { status: 401 }, 'another time');
  t.match(await office.approval(id), { body: { status: 'pending' } });
  t.strictSame(office.slack.requests, [], 'and nobody was answered');
});

t.test('a request counts once, and only while it is fresh', async (t) => {
  const office = await openOffice(t);
  const { gateway } = office;
  const id = await office.hold();
  const value = `acme-chat/acme/${id}`;
  const now = Math.floor(Date.now() / 1000);
  for (const atSeconds of [now - 3600, now + 3600, 0, 999_999_999_999])
    t.match(
      await press(office, value, {}, { atSeconds }),
      { status: 409, body: { code: 'REPLAYED' } },
      String(atSeconds),
    );
  for (const timestamp of ['1e9', '-5', 'soon', `${now}.5`, '9'.repeat(40)])
    t.match(await press(office, value, {}, { timestamp }), { status: 409 }, timestamp);
  t.match(await office.approval(id), { body: { status: 'pending' } });
  const form = formOf(payloadOf(value));
  t.match(await post(gateway, form, { atSeconds: now }), { status: 200 });
  t.match(
    await post(gateway, form, { atSeconds: now }),
    { status: 409, body: { code: 'REPLAYED' } },
    'the same again',
  );
  t.match(await post(gateway, form, { atSeconds: now + 1 }), { status: 200 }, 'pressed again');
});

t.test('a channel reaches no other tenant', async (t) => {
  const office = await openOffice(t);
  const id = await office.hold();
  const missing = { status: 404, body: { code: 'NOT_FOUND' } };
  const { globex, all } = secrets;
  t.match(
    await press(office, `globex-chat/acme/${id}`, {}, { secret: globex }),
    missing,
    "another tenant's channel",
  );
  t.match(
    await press(office, `globex-chat/globex/${id}`, {}, { secret: globex }),
    missing,
    'under its own name',
  );
  t.match(await press(office, `common-chat/globex/${id}`, {}, { secret: all }), missing, 'a wrong tenant');
  t.match(await press(office, `common-chat/nobody/${id}`, {}, { secret: all }), missing, 'an unknown tenant');
  t.match(await press(office, `acme-chat/acme/${randomUUID()}`), missing, 'an unknown approval');
  t.match(await office.approval(id), { body: { status: 'pending' } });
  t.match(
    await press(office, `common-chat/acme/${id}`, {}, { secret: all }),
    { status: 200 },
    'a channel for all tenants',
  );
});

t.test('an approval that has expired cannot be decided', async (t) => {
  const office = await openOffice(t, { approvals: { ttl: '1s' } });
  const id = await office.hold();
  await office.gateway.api('GET', `/v1/approvals/${id}/wait?timeout=60`);
  t.match(await press(office, `acme-chat/acme/${id}`), { body: { text: 'This call is expired already.' } });
  t.match(repliesOf(office)[0], { replace_original: true, text: 'Call expired' });
  t.match(await office.approval(id), { body: { status: 'expired', decided_by: null } });
});

t.test('what is no button of ours is 400', async (t) => {
  const office = await openOffice(t);
  const { gateway } = office;
  const id = await office.hold();
  const value = `acme-chat/acme/${id}`;
  const cases: readonly [name: string, payload: unknown][] = [
    ['no JSON', '{'],
    ['null', 'null'],
    ['another kind of interaction', payloadOf(value, { more: { type: 'view_submission' } })],
    ['no actions', payloadOf(value, { more: { actions: [] } })],
    ['an unknown action', payloadOf(value, { actionId: 'open_console' })],
    ['a value that is none', payloadOf('x')],
    ['a value with more', payloadOf(`${value}/x`)],
    ['a value with less', payloadOf(`acme-chat//${id}`)],
    ['a user that is none', payloadOf(value, { user: { id: 'U0 (admin)' } })],
    ['no user', payloadOf(value, { more: { user: undefined } })],
    ['deep nesting', `${'['.repeat(20_000)}`],
  ];
  for (const [name, payload] of cases)
    t.match(await post(gateway, formOf(payload)), { status: 400, body: { code: 'VALIDATION_FAILED' } }, name);
  t.match(await post(gateway, 'x=1'), { status: 400 }, 'no payload');
  t.match(await post(gateway, 'payload=1&payload=2'), { status: 400 }, 'two payloads');
  const json = await post(gateway, JSON.stringify(payloadOf(value)), { contentType: 'application/json' });
  t.match(json, { status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
  const large = formOf(payloadOf(value, { more: { message: 'x'.repeat(140_000) } }));
  t.match(await post(gateway, large), {
    status: 413,
    body: { code: 'PAYLOAD_TOO_LARGE', limit_bytes: 131_072 },
  });
  const roomy = formOf(payloadOf(value, { more: { message: { text: 'x'.repeat(100_000) } } }));
  t.match(await post(gateway, roomy), { status: 200 }, 'a large message comes back whole');
});

t.test('the OpenAPI document says that it takes a form, from anybody', async (t) => {
  const gateway = await startTestGateway(t);
  const { paths } = (await gateway.api('GET', '/v1/openapi.json')).body;
  t.match(paths[path].post, {
    security: [],
    requestBody: { content: { 'application/x-www-form-urlencoded': { schema: { required: ['payload'] } } } },
  });
});

t.test('only Slack is answered, and no name is markup there', async (t) => {
  const office = await openOffice(t);
  const elsewhere = await startUpstream(t);
  const urls = [
    `${elsewhere.origin}/x`,
    'http://hooks.slack.com/actions/x',
    'https://hooks.slack.com.evil.example/x',
    'https://hooks.slack.com@evil.example/x',
    'https://user:pw@hooks.slack.com/x',
    `https://hooks.slack.com:${elsewhere.port}/x`,
    'https://169.254.169.254/',
    'not a url',
  ];
  for (const responseUrl of urls)
    t.match(
      await press(office, `acme-chat/acme/${await office.hold()}`, { responseUrl }),
      { status: 200 },
      responseUrl,
    );
  t.strictSame([...office.slack.requests, ...elsewhere.requests], []);
  const user = { id: 'U1', username: '<!channel>`*x*`\n<https://evil.example|ok>' };
  const id = await office.hold();
  await press(office, `acme-chat/acme/${id}`, { user });
  const [reply] = repliesOf(office);
  t.equal(
    reply.blocks[2].fields[0].text,
    "*Decided by*\n`slack:U1 (&lt;!channel&gt;'*x*' &lt;https://evil.example|ok&gt;)`",
  );
  const note = await press(office, `acme-chat/acme/${id}`);
  t.notMatch(note.body.text, /[<>]/);
});

t.test('who has pressed is not kept waiting by a Slack that does not take the answer', async (t) => {
  const silent: UpstreamHandler = () => {};
  const office = await openOffice(t, {}, silent);
  const id = await office.hold();
  t.match(await press(office, `acme-chat/acme/${id}`), {
    status: 200,
    body: { text: 'You have approved this call.' },
  });
  t.equal(office.slack.requests.length, 1);
});

t.test('a decision stands where Slack cannot be told of it', async (t) => {
  const office = await openOffice(t);
  const id = await office.hold();
  await office.slack.close();
  t.match(await press(office, `acme-chat/acme/${id}`), {
    status: 200,
    body: { text: 'You have approved this call.' },
  });
  t.match(await office.approval(id), { body: { status: 'approved' } });
});
