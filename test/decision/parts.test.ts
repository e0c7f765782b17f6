import t from 'tap';
import { startTestGateway } from '../support/gateway.ts';

/*
 * A call that does several things at once: each is judged by itself, and the strictest opinion is that of the call. Everything here runs
 * through a whole gateway.
 */

const url = 'https://api.suite.example';
const suite = {
  name: 'suite',
  hosts: ['api.suite.example'],
  graphql: { call: 'POST /graphql' },
  batch: { call: 'POST /batch', requests: '$.requests' },
  operations: {
    users: { list_users: { verb: 'READ', call: 'GET /users' } },
    mail: {
      send_email: {
        verb: 'WRITE',
        call: 'POST /mail',
        graphql: 'sendEmail',
        extract: { principals: 'json:$.to' },
      },
    },
    access: { invite_user: { verb: 'ADMIN', call: 'POST /users', graphql: 'inviteUser' } },
  },
};
const list = { method: 'GET', url: '/users' };
const mailTo = (to: string) => ({ method: 'POST', url: '/mail', body: { to, amount: 7 } });
const invite = { method: 'POST', url: '/users', body: {} };

const rule = (rule_id: string, priority: number, rest: object) => ({
  rule_id,
  priority,
  match: {},
  condition: {},
  ...rest,
});

t.test('policies', async (t) => {
  const gateway = await startTestGateway(t, { config: { tools: [suite] } });
  const applied = await gateway.apply([
    rule('no-mail', 10, {
      match: { tool_names: ['suite'], operations: ['send_email'] },
      condition: { is_external_principal: true },
      action: 'DENY',
    }),
    rule('ask', 20, { match: { tool_names: ['suite'], verbs: ['ADMIN'] }, action: 'REQUIRE_APPROVAL' }),
    rule('tag', 30, { match: { url_patterns: [`${url}/users`] }, action: 'ALLOW', tag: 'users' }),
    rule('rest', 40, { match: { tool_names: ['suite'] }, action: 'ALLOW' }),
  ]);
  t.equal(applied.status, 200, JSON.stringify(applied.body));
  const scan = async (body: unknown, path = '/batch') =>
    (await gateway.api('POST', '/v1/scan', { method: 'POST', url: `${url}${path}`, body })).body;

  const cases = [
    { name: 'of reads alone', requests: [list, list], want: { decision: 'ALLOW', operation: 'list_users' } },
    {
      name: 'with a forbidden one behind others',
      requests: [list, mailTo('ann@acme.test'), mailTo('eve@example.net')],
      want: { decision: 'DENY', reason_codes: ['no-mail'] },
    },
    {
      name: 'with a forbidden one that is not the strictest by its verb',
      requests: [invite, mailTo('eve@example.net')],
      want: { decision: 'DENY', operation: 'invite_user', verb: 'ADMIN' },
    },
    {
      name: 'with one that needs an approval',
      requests: [list, mailTo('ann@acme.test'), invite],
      want: { decision: 'REQUIRE_APPROVAL' },
    },
    { name: 'to own people alone', requests: [mailTo('ann@acme.test')], want: { decision: 'ALLOW' } },
    { name: 'that nobody can take apart', requests: [list, 'x'], want: { decision: 'DENY' } },
  ];
  for (const { name, requests, want } of cases) {
    t.test(`a batch ${name}`, async (t) => {
      const answer = await scan({ requests });
      const { reason_codes, verb, ...rest } = want as Record<string, unknown>;
      t.match(answer, { tool_name: 'suite', ...rest });
      if (verb) t.ok(answer.explanation.length > 0);
      if (reason_codes) t.match(JSON.stringify(answer.matched_rules ?? answer), /no-mail/);
    });
  }

  t.test('of GraphQL, each root field counts, in fragments as well', async (t) => {
    const query = (text: string) => scan({ query: text }, '/graphql');
    t.match(await query('mutation { sendEmail inviteUser }'), { decision: 'REQUIRE_APPROVAL' });
    t.match(await query('mutation { ...F } fragment F on M { a: inviteUser b: sendEmail }'), {
      decision: 'REQUIRE_APPROVAL',
      operation: 'invite_user',
    });
    t.match(await query('mutation { sendEmail }'), { decision: 'ALLOW', operation: 'send_email' });
  });

  t.test('the trace names what the call did', async (t) => {
    const { trace_id } = await scan({ requests: [list, mailTo('eve@example.net')] });
    for (;;) {
      const { status, body } = await gateway.api('GET', `/v1/traces/${trace_id}`);
      if (status === 404) continue;
      t.match(body, { operation: 'send_email', parts: ['suite list_users', 'suite send_email'] });
      break;
    }
  });

  t.test('what the rules say of the parts is said of the call', async (t) => {
    const { explanation } = await scan({ requests: [invite, mailTo('eve@example.net')] });
    t.match(explanation.join('\n'), /Of 2 things that the call does at once, suite send_email decides\./);
  });

  t.test('a key needs all parts in its scope', async (t) => {
    const scoped = async (scope: object, body: unknown) => {
      const { body: child } = await gateway.api('POST', '/v1/keys/ephemeral', { scope });
      const call = { method: 'POST', url: `${url}/batch`, body };
      return (await gateway.api('POST', '/v1/scan', call, `Bearer ${child.key}`)).body;
    };
    const both = { requests: [list, mailTo('ann@acme.test')] };
    t.match(await scoped({ verbs: ['WRITE'] }, both), {
      decision: 'DENY',
      reason_codes: ['EPHEMERAL_SCOPE_VIOLATION'],
    });
    t.match(await scoped({ verbs: ['READ', 'WRITE'] }, both), { decision: 'ALLOW' });
    t.match(await scoped({ tools: ['suite'] }, both), { decision: 'ALLOW' });
  });
});

t.test('a budget counts a call once, whichever of its parts it is for', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      tools: [suite],
      tenants: [
        {
          id: 'acme',
          plan: 'enterprise',
          environments: ['production'],
          budgets: [{ name: 'mails', unit: 'calls', daily: 2, match: { operations: ['send_email'] } }],
        },
      ],
    },
  });
  await gateway.apply([
    rule('spent', 10, { condition: { daily_budget_exceeded: 'mails' }, action: 'DENY' }),
    rule('rest', 20, { action: 'ALLOW' }),
  ]);
  const scan = async (requests: unknown) =>
    (await gateway.api('POST', '/v1/scan', { method: 'POST', url: `${url}/batch`, body: { requests } })).body
      .decision;
  const batch = [invite, mailTo('a@acme.test'), mailTo('b@acme.test')];
  t.strictSame(await scan([list]), 'ALLOW');
  t.strictSame([await scan(batch), await scan(batch), await scan(batch)], ['ALLOW', 'ALLOW', 'DENY']);
});
