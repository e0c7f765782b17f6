import { createHmac, randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { awsKeyId } from '../../support/secrets.ts';
import { slackSecret } from './config.ts';
import { eventually, isoTime, type Lab, type Reply, type Request, type Tenant, uuid } from './lab.ts';

const askFirst = [{ rule_id: 'ask', action: 'REQUIRE_APPROVAL' }];

interface Desk extends Tenant {
  readonly decider: string;
  decide(approvalId: string, body: unknown, key?: string): Promise<Reply>;
  status(approvalId: string): Promise<Reply>;
}

async function openDesk(lab: Lab, id: string): Promise<Desk> {
  const tenant = await lab.tenant(id);
  await tenant.apply(askFirst);
  const { key: decider } = await tenant.mint({
    default_agent_id: randomUUID(),
    permissions: ['approvals:decide', 'activity:read'],
  });
  const decide: Desk['decide'] = (approvalId, body, key = decider) =>
    lab.call({
      method: 'POST',
      path: `/v1/approvals/${approvalId}/decision`,
      authorization: `Bearer ${key}`,
      body,
    });
  return {
    ...tenant,
    decider,
    decide,
    status: (approvalId) => tenant.api('GET', `/v1/approvals/${approvalId}/status`),
  };
}

/** What the service does 4. States: approval status. Endpoints: approvals. Events 3. */
export async function approvals(t: Test, lab: Lab): Promise<void> {
  await t.test('States, approval status: pending, and the record behind it', async (t) => {
    const { scan, status, admin, agentId } = await openDesk(lab, 'approvals');
    const { approval_id, trace_id, decision } = (await scan()).body;
    t.equal(decision, 'REQUIRE_APPROVAL');
    t.match(approval_id, uuid);
    t.match(await status(approval_id), {
      status: 200,
      body: { status: 'pending', approval_id, expires_at: isoTime },
    });
    const record = await admin('GET', `/v1/approvals/${approval_id}`);
    t.match(
      record,
      {
        status: 200,
        body: {
          approval_id,
          status: 'pending',
          trace_id,
          tenant_id: 'approvals',
          env_name: 'production',
          agent_id: agentId,
          method: 'POST',
          url: 'https://api.partner.test/v1/items',
          tool_name: String,
          operation: String,
          reason_codes: Array,
          risk_score: Number,
          risk_band: String,
          policy_id: uuid,
          rule_id: 'ask',
          created_at: isoTime,
          expires_at: isoTime,
          agent_name: /./,
          body_preview: /pencil/,
          body_bytes: Number,
          opens_websocket: false,
          findings: [],
          decided_at: null,
          decided_by: null,
          scope: null,
          note: null,
        },
      },
      'Events 3: REQUIRE_APPROVAL creates an approval record',
    );
    const listed = await admin('GET', '/v1/approvals?status=pending&limit=1000');
    t.ok(
      listed.body.items?.some((it: { approval_id: string }) => it.approval_id === approval_id),
      'it is listed',
    );
    for (const [filter, isListed] of [
      [`agent=${agentId}`, true],
      [`agent_id=${agentId}&tool=${record.body.tool_name}&from=${record.body.created_at}`, true],
      [`agent=${randomUUID()}`, false],
      [`agent=${agentId}&tool=github`, false],
      [`agent=${agentId}&to=${record.body.created_at}`, false],
      [`agent=${agentId}&status=denied`, false],
    ] as const) {
      const { items } = (await admin('GET', `/v1/approvals?${filter}`)).body;
      t.equal(items.length, isListed ? 1 : 0, filter);
    }
    for (const filter of ['status=open', 'agent=bot', 'from=yesterday', 'tool='])
      t.match(await admin('GET', `/v1/approvals?${filter}`), { status: 400 }, filter);
    const secret = awsKeyId();
    const leaking = await scan({ url: `https://a.test/${secret}?k=${secret}`, body: { a: secret } });
    const shown = (await admin('GET', `/v1/approvals/${leaking.body.approval_id}`)).body;
    t.match(shown, { url: /REDACTED/, body_preview: /REDACTED/ }, 'URL and preview are redacted');
    t.notOk(JSON.stringify(shown).includes(secret), 'the record has no secret');
    t.ok(
      shown.findings.some((it: { location: string }) => it.location === 'body:$.a'),
      'it says what was found where',
    );
    const livesMs = Date.parse(record.body.expires_at) - Date.parse(record.body.created_at);
    t.equal(livesMs, 600_000, 'it expires after 10 minutes by default');
  });

  await t.test('States, approval status: approved, and the grant', async (t) => {
    const { scan, status, decide, apply } = await openDesk(lab, 'approvals');
    const call = { body: { pay: randomUUID() } };
    const { approval_id } = (await scan(call)).body;
    t.equal(
      (await scan(call)).body.approval_id,
      approval_id,
      'an identical call while one is pending gets the same id',
    );
    t.not((await scan({ body: { pay: 'other' } })).body.approval_id, approval_id, 'another call another id');
    t.match(await decide(approval_id, { decision: 'approved', note: 'fine' }), {
      status: 200,
      body: { approval_id, status: 'approved', note: 'fine', decided_at: isoTime, decided_by: /./ },
    });
    t.match(await status(approval_id), {
      status: 200,
      body: { status: 'approved', decided_at: isoTime, note: 'fine' },
    });
    const granted = (await scan(call)).body;
    t.match(granted, { decision: 'ALLOW' }, 'an identical call is allowed');
    t.ok(granted.reason_codes.includes('RECENT_APPROVAL_GRANT'));
    const after = (await scan(call)).body;
    t.match(after, { decision: 'REQUIRE_APPROVAL', approval_id: uuid }, 'scope once: the grant is used');
    t.not(after.approval_id, approval_id);
    await decide(after.approval_id, { decision: 'approved', scope: 'window' });
    for (let n = 0; n < 3; n++)
      t.equal((await scan(call)).body.decision, 'ALLOW', 'scope window: for the whole window');
    t.equal(
      (await scan({ ...call, method: 'PUT' })).body.decision,
      'REQUIRE_APPROVAL',
      'another method is another call',
    );
    t.equal(
      (await scan({ ...call, agent_id: randomUUID() })).body.decision,
      'REQUIRE_APPROVAL',
      'another agent, too',
    );
    await apply([{ rule_id: 'no', action: 'DENY' }], { name: 'later' });
    t.equal((await scan(call)).body.decision, 'DENY', 'a DENY by policy still counts');
    await apply([{ rule_id: 'no', match: { tool_name: 'nothing' }, action: 'DENY' }], { name: 'later' });
  });

  await t.test('States, approval status: denied, and the deny window', async (t) => {
    const { scan, status, decide } = await openDesk(lab, 'approvals');
    const call = { body: { pay: randomUUID() } };
    const { approval_id } = (await scan(call)).body;
    t.match(await decide(approval_id, { decision: 'denied', note: 'no' }), {
      status: 200,
      body: { status: 'denied' },
    });
    t.match(await status(approval_id), { status: 200, body: { status: 'denied', note: 'no' } });
    const denied = (await scan(call)).body;
    t.equal(denied.decision, 'DENY');
    t.ok(denied.reason_codes.includes('RECENT_APPROVAL_DENIAL'));
    t.notOk('approval_id' in denied, 'no new approval is made');
  });

  await t.test('States, approval status: expired', async (t) => {
    const { scan, status, decide } = await openDesk(lab, 'brief-approvals');
    const call = { body: { pay: randomUUID() } };
    const { approval_id } = (await scan(call)).body;
    const isExpired = ({ body }: Reply) => body.status !== 'pending';
    t.match(await eventually(() => status(approval_id), isExpired), {
      status: 200,
      body: { status: 'expired' },
    });
    t.match(
      await decide(approval_id, { decision: 'approved' }),
      { status: 409, body: { code: 'CONFLICT' } },
      'too late',
    );
    const again = (await scan(call)).body;
    t.match(again, { decision: 'REQUIRE_APPROVAL', approval_id: uuid });
    t.not(again.approval_id, approval_id, 'after expiry a new one');
  });

  await t.test('States, approval status: windows of 0s', async (t) => {
    const { scan, decide } = await openDesk(lab, 'no-windows');
    for (const decision of ['approved', 'denied']) {
      const call = { body: { pay: randomUUID() } };
      const { approval_id } = (await scan(call)).body;
      await decide(approval_id, { decision });
      const next = (await scan(call)).body;
      t.equal(next.decision, 'REQUIRE_APPROVAL', `${decision}: nothing is remembered`);
      t.not(next.approval_id, approval_id);
    }
  });

  await t.test('States, approval status: each is decided once', async (t) => {
    const { scan, decide } = await openDesk(lab, 'approvals');
    const { approval_id } = (await scan({ body: randomUUID() })).body;
    const race = await Promise.all(
      Array.from({ length: 20 }, (_, n) => decide(approval_id, { decision: n % 2 ? 'approved' : 'denied' })),
    );
    t.equal(race.filter((it) => it.status === 200).length, 1, 'one of twenty deciders decides');
    const standing = race.find((it) => it.status === 200)?.body;
    for (const it of race.filter((one) => one.status !== 200)) {
      t.match(
        it,
        {
          status: 409,
          body: {
            code: 'CONFLICT',
            standing: { decision: standing?.status, decided_at: standing?.decided_at },
          },
        },
        'the others are told what stands',
      );
    }
  });

  await t.test('Approvals: the requester is never the decider', async (t) => {
    const { scan, decide, mint, agentId, admin, key, id } = await openDesk(lab, 'approvals');
    const own = await mint({ permissions: ['scan', 'approvals:decide', 'keys:ephemeral'] });
    const ask = async (by = own.key) => (await scan({ body: randomUUID() }, by)).body.approval_id;
    const forbidden = { status: 403, body: { code: 'FORBIDDEN' } };
    t.match(await decide(await ask(), { decision: 'approved' }, own.key), forbidden, 'the key that asked');
    const sibling = await mint({ default_agent_id: agentId, permissions: ['approvals:decide'] });
    t.match(
      await decide(await ask(), { decision: 'approved' }, sibling.key),
      forbidden,
      "a key of the requester's agent",
    );
    t.match(
      await decide(await ask(), { decision: 'approved' }, key),
      forbidden,
      'a key without approvals:decide',
    );
    const all = await mint({ default_agent_id: randomUUID(), permissions: ['admin'] });
    const claimed = (await scan({ agent_id: randomUUID(), body: randomUUID() }, all.key)).body.approval_id;
    t.match(
      await decide(claimed, { decision: 'approved' }, all.key),
      forbidden,
      'the key that asked in the name of another agent',
    );
    t.match(
      await admin('POST', `/v1/approvals/${await ask()}/decision`, { decision: 'approved' }),
      { status: 200, body: { status: 'approved', tenant_id: id } },
      'the administration secret decides',
    );
  });

  await t.test('Endpoints, approvals: wait, bad input, unknown ids', async (t) => {
    const { scan, decide, api, status } = await openDesk(lab, 'approvals');
    const { approval_id } = (await scan({ body: randomUUID() })).body;
    t.match(
      await api('GET', `/v1/approvals/${approval_id}/wait?timeout=1`),
      { status: 200, body: { status: 'pending', approval_id } },
      'wait answers pending at the time-out',
    );
    const waiting = api('GET', `/v1/approvals/${approval_id}/wait?timeout=60`);
    await decide(approval_id, { decision: 'approved' });
    t.match(await waiting, { status: 200, body: { status: 'approved' } }, 'wait answers the decision');
    t.match(
      await api('GET', `/v1/approvals/${approval_id}/wait`),
      { status: 200, body: { status: 'approved' } },
      'at once',
    );
    for (const timeout of ['0', '61', 'x', '-1', '1.5']) {
      const reply = await api('GET', `/v1/approvals/${approval_id}/wait?timeout=${timeout}`);
      t.match(reply, { status: 400, body: { code: 'VALIDATION_FAILED' } }, `timeout=${timeout}`);
    }
    const { approval_id: open } = (await scan({ body: randomUUID() })).body;
    for (const body of [
      {},
      { decision: 'maybe' },
      { decision: 'approved', scope: 'ever' },
      { decision: 'approved', note: 7 },
    ]) {
      t.match(
        await decide(open, body),
        { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{}] } },
        JSON.stringify(body),
      );
    }
    const foreign = await openDesk(lab, 'no-windows');
    const theirs = (await foreign.scan({ body: randomUUID() })).body.approval_id;
    for (const one of [randomUUID(), theirs, 'rubbish']) {
      t.match(await status(one), { status: 404, body: { code: 'NOT_FOUND' } });
      t.match(await decide(one, { decision: 'approved' }), { status: 404, body: { code: 'NOT_FOUND' } });
    }
  });

  await t.test('Endpoints, approvals: a button in Slack decides once, and is taken once', async (t) => {
    const { scan, status, admin } = await openDesk(lab, 'approvals');
    const { approval_id } = (await scan({ body: randomUUID() })).body;
    const press = (user: string, actionId: string) =>
      pressed({ user: { id: user }, action_id: actionId, value: `chat/approvals/${approval_id}` });
    const presses = ['U1', 'U2', 'U3', 'U4'].map((user) => press(user, 'postern_approve'));
    const replies = await Promise.all(presses.map((it) => lab.call(it)));
    t.same(
      replies.map((it) => it.status),
      [200, 200, 200, 200],
    );
    const told = replies.map((it) => it.body.text);
    t.equal(told.filter((it) => it === 'You have approved this call.').length, 1, 'one decides');
    t.equal(told.filter((it) => /approved already by slack:U\d, /.test(it)).length, 3, 'the others are told');
    t.match((await status(approval_id)).body, { status: 'approved' });
    const replayed = { status: 409, body: { code: 'REPLAYED' } };
    for (const it of presses) t.match(await lab.call(it), replayed, 'the same request again');
    t.match(
      await lab.call({ ...press('U5', 'postern_deny'), headers: {} }),
      { status: 415 },
      'and it is a form',
    );
    const { decided_by } = (await admin('GET', `/v1/approvals/${approval_id}`)).body;
    const { items } = (await admin('GET', '/v1/audit?kind=approval.decided')).body;
    const entries = items.filter((it: { subject: string }) => it.subject === approval_id);
    t.match(entries, [{ operator: decided_by, details: { decision: 'approved', channel: 'chat' } }]);
    t.equal(entries.length, 1);
  });

  await t.test('Endpoints, approvals: a poll counts against no quota and no rate', async (t) => {
    const { scan, apply, api } = await lab.tenant('burst-of-2');
    await apply(askFirst);
    const { approval_id } = (await scan()).body;
    const statuses = new Set<number>();
    for (let n = 0; n < 20; n++)
      statuses.add((await api('GET', `/v1/approvals/${approval_id}/status`)).status);
    t.same([...statuses], [200], 'twenty polls through a bucket of two');
    t.equal((await api('GET', '/v1/usage')).body.scans_used, 1);
  });

  await t.test('Decision: approval and sanitizing together', async (t) => {
    const { scan, decide, apply } = await openDesk(lab, 'held-and-cleaned');
    await apply([{ rule_id: 'clean', action: 'SANITIZE' }], { name: 'a' });
    const call = { body: { note: 'SSN 536-22-8726', id: randomUUID() } };
    const held = (await scan(call)).body;
    t.match(held, { decision: 'REQUIRE_APPROVAL', approval_id: uuid }, 'held first');
    await decide(held.approval_id, { decision: 'approved' });
    const sent = (await scan(call)).body;
    t.match(
      sent,
      { decision: 'SANITIZE', sanitized_body: { note: 'SSN [REDACTED:us-ssn]' } },
      'then sent sanitized',
    );
    t.ok(sent.reason_codes.includes('RECENT_APPROVAL_GRANT'));
  });
}

/** What Slack sends of a button, signed now. */
function pressed({ user, ...action }: { user: { id: string }; action_id: string; value: string }): Request {
  const body = new URLSearchParams({
    payload: JSON.stringify({ type: 'block_actions', user, actions: [{ type: 'button', ...action }] }),
  }).toString();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', slackSecret).update(`v0:${timestamp}:${body}`).digest('hex');
  return {
    method: 'POST',
    path: '/v1/integrations/slack/interactions',
    body,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${signature}`,
    },
  };
}
