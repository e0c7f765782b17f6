import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { Test } from 'tap';
import { basic } from '../../support/clients.ts';
import { awsKeyId } from '../../support/secrets.ts';
import { inboundSecrets } from './config.ts';
import { eventually, type Lab, type Reply, uuid } from './lab.ts';
import { ask, connect, proxied, tunnelTo } from './tunnel.ts';

const host = 'up.test.example';

/** Decisions 6, 8 and 10: calls over the forward proxy. */
export async function proxiedCalls(t: Test, lab: Lab): Promise<void> {
  const last = () => lab.upstream.requests.at(-1);

  await t.test('Proxied calls: each decision, and what the upstream sees of it', async (t) => {
    const { key, apply, admin, agentId } = await lab.tenant('proxied');
    const rule = { rule_id: 'r', match: { agent_ids: [agentId] }, reason_code: 'FOR_TEST' };
    const cases: readonly [action: string, decision: string, status: number, code?: string][] = [
      ['ALLOW', 'ALLOW', 200],
      ['SANITIZE', 'SANITIZE', 200],
      ['DENY', 'DENY', 403, 'POLICY_DENIED'],
      ['OPEN_INCIDENT', 'DENY', 403, 'POLICY_DENIED'],
      ['REQUIRE_APPROVAL', 'REQUIRE_APPROVAL', 403, 'APPROVAL_REQUIRED'],
    ];
    const secret = awsKeyId();
    for (const [action, decision, status, code] of cases) {
      await apply([{ ...rule, action }]);
      const before = lab.upstream.requests.length;
      const reply = await proxied(lab, host, key, { method: 'POST', body: JSON.stringify({ note: secret }) });
      t.equal(reply.status, status, `${action}: ${status}`);
      t.match(reply.headers.get('x-service-trace-id'), uuid, `${action}: X-Service-Trace-Id`);
      t.equal(reply.headers.get('x-service-decision'), decision, `${action}: X-Service-Decision`);
      const reasons = reply.headers.get('x-service-reasons')?.split(',') ?? [];
      const trace = await admin('GET', `/v1/traces/${reply.headers.get('x-service-trace-id')}`);
      t.equal(reasons[0], 'FOR_TEST', `${action}: X-Service-Reasons, the deciding one first`);
      t.ok(reasons.includes('SECRETS'), `${action}: and the others`);
      t.same(reasons, trace.body.reason_codes, `${action}: all that the trace has, with commas`);
      const sent = lab.upstream.requests.length - before;
      t.equal(sent, code === undefined ? 1 : 0, `${action}: the upstream sees ${sent}`);
      if (code !== undefined) {
        const trace_id = reply.headers.get('x-service-trace-id');
        t.match(reply.body, { code, reason: code, status, trace_id }, `${action}: ${code}`);
      } else {
        const arrived = last()?.body.toString() ?? '';
        t.equal(arrived.includes(secret), action === 'ALLOW', `${action}: the secret`);
        if (action === 'SANITIZE') t.equal(arrived, '{"note":"[REDACTED:aws-access-key-id]"}', 'is redacted');
      }
      if (action !== 'REQUIRE_APPROVAL') continue;
      t.match(reply.headers.get('x-service-approval-id'), uuid, 'X-Service-Approval-Id');
      t.equal(reply.body.approval_id, reply.headers.get('x-service-approval-id'));
      t.equal(reply.body.status_url, `${lab.controlUrl}/v1/approvals/${reply.body.approval_id}/status`);
      t.match(reply.headers.get('retry-after'), /^[1-9]\d*$/, 'Retry-After');
    }
    await apply([{ rule_id: 'r', match: { tool_name: 'nothing' }, action: 'DENY' }]);
    const clean = await proxied(lab, host, key);
    t.equal(clean.headers.get('x-service-reasons'), null, 'without reasons there is no X-Service-Reasons');
  });

  await t.test('Proxied calls: who the client of the proxy says it is', async (t) => {
    const { key, admin, agentId, mint } = await lab.tenant('proxied');
    const other = randomUUID();
    await mint({ default_agent_id: other });
    const named = 'x'.repeat(200);
    const cases: readonly [name: string, as: string, want: object][] = [
      ['the printed user name says nothing', basic(key, 'agent'), { agent_id: agentId }],
      ['free text is the name', basic(key, 'night shift'), { agent_id: agentId, agent_name: 'night shift' }],
      ['of at most 128', basic(key, named), { agent_name: named.slice(0, 128) }],
      ['a UUID is the agent', basic(key, other), { agent_id: other }],
      ['the key as user name', `Basic ${Buffer.from(`${key}:`).toString('base64')}`, { agent_id: agentId }],
      ['Bearer', `Bearer ${key}`, { agent_id: agentId }],
    ];
    for (const [name, as, want] of cases) {
      const reply = await proxied(lab, host, as);
      const trace = await admin('GET', `/v1/traces/${reply.headers.get('x-service-trace-id')}`);
      t.match(trace, { status: 200, body: { ...want, decision: 'ALLOW', method: 'GET' } }, name);
    }
    const { agentId: foreign } = await lab.tenant('foreign');
    t.match(
      await proxied(lab, host, basic(key, foreign)),
      { status: 403, body: { code: 'CROSS_TENANT' } },
      'an agent of another tenant is not taken',
    );
    const claims = {
      'X-Service-Agent-Id': other,
      'X-Service-Agent-Name': 'by header',
      'X-Service-Runtime-Type': 'crewai',
      'X-Service-Context': 'of the talk',
    };
    const reply = await proxied(lab, host, key, { headers: claims });
    t.match(
      await admin('GET', `/v1/traces/${reply.headers.get('x-service-trace-id')}`),
      { body: { agent_id: other, agent_name: 'by header', runtime_type: 'crewai' } },
      'X-Service-Agent-Id, -Agent-Name and -Runtime-Type are read',
    );
    const arrived = Object.keys(last()?.headers ?? {});
    t.notOk(
      arrived.some((it) => /^x-service-|^proxy-/.test(it)),
      'and removed, like what proxies read',
    );
    t.notOk(JSON.stringify(last()?.rawHeaders).includes(key), 'the key does not reach the upstream');
  });

  await t.test('Proxied calls: scans_used counts each request, and no CONNECT', async (t) => {
    const { key, api } = await lab.tenant('proxied');
    const used = async (): Promise<number> => (await api('GET', '/v1/usage')).body.scans_used;
    const before = await used();
    const socket = await tunnelTo(lab, host, key);
    t.equal(await used(), before, 'a tunnel is no call');
    for (let n = 1; n <= 3; n++) {
      await ask(socket, host);
      t.equal(await used(), before + n, `request ${n} of one tunnel`);
    }
    socket.destroy();
    const plain = await absolute(lab, `http://${host}/plain`, basic(key));
    t.not(plain.status, 407, 'absolute-form');
    t.equal(await used(), before + 4, 'is counted, too');
  });

  await t.test('Authentication 7: revocation takes effect immediately, open tunnels included', async (t) => {
    const { mint, admin } = await lab.tenant('proxied');
    const { key, key_id } = await mint();
    const socket = await tunnelTo(lab, host, key);
    t.equal((await ask(socket, host)).status, 200);
    t.equal((await admin('DELETE', `/v1/keys/${key_id}`)).status, 200);
    const before = lab.upstream.requests.length;
    const reply = await ask(socket, host);
    t.match(reply, { status: 401, body: { code: 'INVALID_KEY' } }, 'the next call in the open tunnel');
    t.equal(reply.headers.get('x-service-decision'), 'DENY');
    socket.destroy();
    t.equal(lab.upstream.requests.length, before, 'does not reach the upstream');
    t.equal((await connect(lab, `${host}:443`, basic(key))).status, 407, 'and there is no other tunnel');
    t.equal((await absolute(lab, `http://${host}/`, basic(key))).status, 407, 'nor a call in absolute-form');
  });

  await t.test('Proxied calls: a credential goes where it belongs, and comes back to nobody', async (t) => {
    const { key } = await lab.tenant('proxied');
    const foreign = await lab.tenant('foreign');
    const authorization = async (at: string, path: string, as = key): Promise<string | undefined> => {
      const reply = await proxied(lab, at, as, { path, headers: { authorization: 'Bearer of-the-agent' } });
      t.notOk(
        JSON.stringify([reply.body, [...reply.headers]]).includes(inboundSecrets.host),
        `${at}${path}: an upstream that echoes it is redacted`,
      );
      return last()?.headers.authorization;
    };
    const own = 'Bearer of-the-agent';
    t.equal(
      await authorization('vendor.test.example', '/open/x'),
      `Bearer ${inboundSecrets.host}`,
      'host and path',
    );
    t.equal(await authorization('vendor.test.example', '/closed/x'), own, 'another path');
    t.equal(await authorization(host, '/open/x'), own, 'another host');
    t.equal(await authorization('vendor.test.example', '/open/x', foreign.key), own, 'another tenant');
  });

  await t.test('Approvals: held open on the proxies, and sent on exactly once if approved', async (t) => {
    const tenant = await lab.tenant('holding');
    await tenant.apply([{ rule_id: 'ask', action: 'REQUIRE_APPROVAL' }]);
    const hold = async (decision: string) => {
      const before = lab.upstream.requests.length;
      const body = JSON.stringify({ pay: randomUUID() });
      const running = proxied(lab, host, tenant.key, { method: 'POST', body });
      const pending = await eventually(
        () => tenant.admin('GET', '/v1/approvals?status=pending'),
        (it) => it.body.items.length > 0,
      );
      t.equal(lab.upstream.requests.length, before, `${decision}: nothing is sent before the decision`);
      const path = `/v1/approvals/${pending.body.items[0].approval_id}/decision`;
      t.equal((await tenant.admin('POST', path, { decision })).status, 200);
      const reply = await running;
      const sent = lab.upstream.requests.slice(before);
      return { reply, sent, body };
    };
    const approved = await hold('approved');
    t.equal(approved.reply.status, 200, 'approved: the upstream answers');
    t.equal(approved.reply.headers.get('x-service-decision'), 'ALLOW');
    t.match(approved.reply.headers.get('x-service-reasons'), /RECENT_APPROVAL_GRANT/);
    t.same(
      approved.sent.map((it) => it.body.toString()),
      [approved.body],
      'sent once, as it was',
    );
    const denied = await hold('denied');
    t.match(denied.reply, { status: 403, body: { code: 'POLICY_DENIED' } }, 'denied: 403');
    t.match(denied.reply.headers.get('x-service-reasons'), /RECENT_APPROVAL_DENIAL/);
    t.same(denied.sent, [], 'and nothing is sent');
    const brief = await lab.tenant('holding-briefly');
    await brief.apply([{ rule_id: 'ask', action: 'REQUIRE_APPROVAL' }]);
    t.match(
      await proxied(lab, host, brief.key, { method: 'POST', body: '{}' }),
      { status: 403, body: { code: 'APPROVAL_REQUIRED', approval_id: uuid } },
      'nobody decides: 403 with the id, after the time',
    );
  });

  await t.test('Proxied calls: ephemeral keys and their scope', async (t) => {
    const { ephemeral } = await lab.tenant('proxied');
    const { key: once } = await ephemeral({ max_uses: 1 });
    const socket = await tunnelTo(lab, host, once);
    t.equal((await ask(socket, host)).status, 200, 'a proxied call spends a use');
    t.match(await ask(socket, host), { status: 401, body: { code: 'INVALID_KEY' } });
    socket.destroy();
    const { key: narrow } = await ephemeral({ scope: { verbs: ['READ'] } });
    t.equal((await proxied(lab, host, narrow)).status, 200, 'GET is a READ');
    const reply = await proxied(lab, host, narrow, { method: 'POST', body: '{}' });
    t.equal(reply.status, 403, 'out of scope is 403 on the proxies');
    t.equal(reply.headers.get('x-service-decision'), 'DENY');
    t.equal(reply.headers.get('x-service-reasons'), 'EPHEMERAL_SCOPE_VIOLATION');
  });
}

/** A request in absolute-form (RFC 9112, 3.2.2). */
function absolute(lab: Lab, url: string, authorization: string): Promise<Pick<Reply, 'status'>> {
  const { hostname, port } = new URL(lab.proxyUrl);
  const headers = { host: new URL(url).host, 'proxy-authorization': authorization };
  return new Promise((resolve, reject) => {
    const options = { host: hostname, port, path: url, headers, agent: false };
    const sent = http.get(options, (response) => {
      response.resume().once('end', () => resolve({ status: response.statusCode ?? 0 }));
    });
    sent.once('error', reject);
  });
}
