import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { awsKeyId } from '../../support/secrets.ts';
import { eventually, isoTime, type Lab, type Reply, uuid } from './lab.ts';

interface Listed {
  readonly trace_id: string;
  readonly agent_id: string;
}

/** Events 1 to 3 and 6: traces, incidents, agents, audit. */
export async function events(t: Test, lab: Lab): Promise<void> {
  await t.test('Events 1: every scan yields a trace with the decision', async (t) => {
    const { scan, api, agentId } = await lab.tenant('traces');
    const { body } = await scan();
    const trace = await api('GET', `/v1/traces/${body.trace_id}`);
    t.match(
      trace,
      {
        status: 200,
        body: {
          trace_id: body.trace_id,
          decision: body.decision,
          risk_score: body.risk_score,
          risk_band: body.risk_band,
          tool_name: body.tool_name,
          operation: body.operation,
          agent_id: agentId,
          method: 'POST',
        },
      },
      'by id at once',
    );
    const secret = awsKeyId();
    const leak = await scan({
      body: { a: secret },
      headers: { 'X-A': secret },
      url: `https://a.test/?k=${secret}`,
    });
    const stored = await api('GET', `/v1/traces/${leak.body.trace_id}`);
    t.equal(stored.status, 200);
    t.notMatch(JSON.stringify(stored.body), secret, 'a trace holds no secret');
    t.match(await api('GET', `/v1/traces/${randomUUID()}`), { status: 404, body: { code: 'NOT_FOUND' } });
    const foreign = (await (await lab.tenant('foreign')).scan()).body.trace_id;
    t.match(await api('GET', `/v1/traces/${foreign}`), { status: 404 }, 'of another tenant: not there');
  });

  await t.test('Events 1: traces are filterable by reason, and by what else they have', async (t) => {
    const { scan, api, apply } = await lab.tenant('traces');
    const agent_id = randomUUID();
    const match = { agent_ids: [agent_id] };
    await apply([
      {
        rule_id: 'r',
        match,
        condition: { has_data_class: ['PII'] },
        action: 'DENY',
        reason_code: 'OUR_REASON',
        tag: 'our-tag',
      },
    ]);
    const call = { agent_id, body: { note: 'SSN 536-22-8726' } };
    const hit = (await scan({ ...call, method: 'PUT', url: 'https://api.github.com/repos/acme/app/topics' }))
      .body;
    const other = (await scan({ agent_id })).body;
    const ids = async (query: string): Promise<string[]> =>
      ((await api('GET', `/v1/traces?limit=1000&${query}`)).body?.items ?? []).map(
        (it: Listed) => it.trace_id,
      );
    const both = await eventually(
      () => ids(`agent=${agent_id}`),
      (found) => found.length >= 2,
    );
    t.same([...both].sort(), [hit.trace_id, other.trace_id].sort(), 'agent; in lists soon');
    t.equal(both[0], other.trace_id, 'the latest first');
    const filters: Readonly<Record<string, string>> = {
      reason: 'OUR_REASON',
      decision: 'DENY',
      tool: 'github',
      operation: hit.operation,
      tag: 'our-tag',
      class: 'PII',
      band: hit.risk_band,
    };
    for (const [name, value] of Object.entries(filters)) {
      const found = await ids(`agent=${agent_id}&${name}=${encodeURIComponent(value)}`);
      t.ok(found.includes(hit.trace_id), `${name}=${value} finds it`);
      if (name !== 'band') t.notOk(found.includes(other.trace_id), `${name}=${value} leaves the other out`);
    }
    t.same(await ids('reason=NOBODY_HAS_THIS'), []);
    const first = await api('GET', `/v1/traces?agent=${agent_id}&limit=1`);
    t.equal(first.body.items.length, 1, 'limit');
    const second = await api(
      'GET',
      `/v1/traces?agent=${agent_id}&limit=1&cursor=${encodeURIComponent(first.body.next_cursor)}`,
    );
    t.not(second.body.items[0].trace_id, first.body.items[0].trace_id, 'cursor goes on where the page ended');
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'cursor=%00rubbish']) {
      t.match(
        await api('GET', `/v1/traces?${query}`),
        { status: 400, body: { code: 'VALIDATION_FAILED' } },
        query,
      );
    }
  });

  await t.test('Errors: refused calls of a known key are written to the activity log', async (t) => {
    const { mint, scan, admin } = await lab.tenant('traces');
    const away = await mint({ default_agent_id: randomUUID(), ip_allowlist: ['192.0.2.1'] });
    const refused = await scan({}, away.key);
    t.match(refused.body, { code: 'IP_NOT_ALLOWED', trace_id: uuid });
    const trace = await admin('GET', `/v1/traces/${refused.body.trace_id}`);
    t.match(trace, { status: 200, body: { decision: 'DENY', reason_codes: ['IP_NOT_ALLOWED'] } });
    const { key: scanless } = await mint({ permissions: ['usage:read'] });
    const few = await lab.tenant('traced-few');
    while ((await few.scan()).status === 200);
    const cases: readonly [name: string, reply: Reply, status: number, by: typeof admin][] = [
      ['FORBIDDEN', await scan({}, scanless), 403, admin],
      ['PAYLOAD_TOO_LARGE', await scan({ body: 'x'.repeat(257 * 1024) }), 413, admin],
      ['QUOTA_EXCEEDED', await few.scan(), 429, few.admin],
    ];
    for (const [code, reply, status, by] of cases) {
      t.match(reply, { status, body: { code, trace_id: uuid } }, `${status} ${code} tells its trace`);
      const written = await by('GET', `/v1/traces/${reply.body.trace_id}`);
      t.match(
        written,
        { status: 200, body: { decision: 'DENY', reason_codes: [code] } },
        `${code} is written`,
      );
    }
    const gone = await mint();
    await admin('DELETE', `/v1/keys/${gone.key_id}`);
    const dead = await scan({}, gone.key);
    t.match(dead, { status: 401, body: { code: 'INVALID_KEY', trace_id: uuid } }, '401 with a known prefix');
    t.match(await admin('GET', `/v1/traces/${dead.body.trace_id}`), {
      status: 200,
      body: { decision: 'DENY' },
    });
  });

  await t.test('Events 2: incidents, their states and notes', async (t) => {
    const { admin, mint, agentId } = await lab.tenant('incidents');
    const opened = await admin('POST', '/v1/incidents', {
      title: 'by hand',
      severity: 'LOW',
      agent_id: agentId,
    });
    t.match(opened, { status: 201, body: { incident_id: uuid, status: 'open', severity: 'LOW' } });
    const path = `/v1/incidents/${opened.body?.incident_id}`;
    t.match(await admin('GET', path), { status: 200, body: { status: 'open' } });
    const go = (status: string, more: object = {}) =>
      admin('POST', `${path}/transition`, { status, ...more });
    t.match(await go('investigating'), { status: 200, body: { status: 'investigating' } });
    t.match(await admin('POST', `${path}/notes`, { text: 'seen' }), {
      body: { incident_id: opened.body?.incident_id },
    });
    t.match(await go('closed', { code: 'because' }), { status: 400 }, 'a code that is none');
    t.match(
      await go('closed'),
      { status: 400, body: { errors: [{ path: 'code' }] } },
      'closed without a code',
    );
    t.match(await go('open'), { status: 400, body: { code: 'VALIDATION_FAILED' } }, 'no way back');
    t.match(await go('closed', { code: 'false_positive' }), { status: 200, body: { status: 'closed' } });
    t.match(await go('investigating'), { status: 409, body: { code: 'CONFLICT' } }, 'closed is the end');
    t.match(await admin('GET', `/v1/incidents/${randomUUID()}`), {
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    const { key } = await mint({ permissions: ['scan'] });
    const reply = await lab.call({ method: 'GET', path: '/v1/incidents', authorization: `Bearer ${key}` });
    t.match(reply, { status: 403, body: { code: 'FORBIDDEN' } });
  });

  await t.test('Agents: what is told of them', async (t) => {
    const { scan, admin, agentId, api } = await lab.tenant('agents');
    await scan({ agent_name: 'reporter', runtime_type: 'crewai' });
    const agent = await eventually(
      () => admin('GET', `/v1/agents/${agentId}`),
      ({ body }) => body?.calls_total >= 1,
    );
    t.match(agent, {
      status: 200,
      body: {
        agent_id: agentId,
        tenant_id: 'agents',
        env_name: 'production',
        status: 'active',
        trust_score: 1,
        calls_total: 1,
        created_at: isoTime,
        first_seen: isoTime,
        last_seen: isoTime,
        decisions_24h: { ALLOW: 1 },
        trust_reasons: [],
        name: /./,
      },
    });
    const other = randomUUID();
    await scan({ agent_id: other, agent_name: 'newcomer', runtime_type: 'crewai' });
    t.match(
      await admin('GET', `/v1/agents/${other}`),
      { status: 200, body: { name: 'newcomer', runtime_type: 'crewai', env_name: 'production' } },
      'an agent that its first call registers has the name and the type that the call tells',
    );
    t.match(await admin('PATCH', `/v1/agents/${agentId}`, { name: 'renamed' }), {
      status: 200,
      body: { name: 'renamed' },
    });
    t.match(await admin('POST', `/v1/agents/${agentId}/reset-trust`), {
      status: 200,
      body: { trust_score: 1 },
    });
    const listed = await admin('GET', '/v1/agents?limit=1000');
    t.ok(
      listed.body.items?.some((it: Listed) => it.agent_id === agentId),
      'the list has it',
    );
    t.match(await api('POST', `/v1/agents/${agentId}/suspend`), { status: 403, body: { code: 'FORBIDDEN' } });
    const { agentId: foreign } = await lab.tenant('foreign');
    t.match(await admin('GET', `/v1/agents/${foreign}`), { status: 404, body: { code: 'NOT_FOUND' } });
  });

  await t.test('Events 6: audit entries record prefix, operator and timestamp', async (t) => {
    const { mint, admin } = await lab.tenant('audit');
    const { key, key_id, prefix } = await mint();
    await admin('DELETE', `/v1/keys/${key_id}`);
    const { status, body } = await admin('GET', '/v1/audit?limit=1000');
    t.equal(status, 200);
    const own = body.items.filter((it: { subject: string }) => it.subject === key_id);
    t.same(own.map((it: { kind: string }) => it.kind).sort(), ['key.created', 'key.revoked']);
    for (const entry of own) {
      t.match(entry, { operator: /./, at: isoTime }, `${entry.kind}: operator and timestamp`);
      t.ok(JSON.stringify(entry).includes(prefix), `${entry.kind}: prefix`);
    }
    const entries = [...body.items].reverse();
    t.same(
      entries.map((it: { seq: number }) => it.seq - entries[0].seq),
      [...entries.keys()],
      'entries are numbered without a gap',
    );
    for (let n = 1; n < entries.length; n++)
      t.equal(entries[n].previous, entries[n - 1].hash, 'each has the hash of the one before');
    for (const it of entries) t.match(it.hash, /^[0-9a-f]{64}$/, 'a SHA-256');
    t.notMatch(JSON.stringify(body), key, 'never the full key');
    const foreign = await (await lab.tenant('foreign')).admin('GET', '/v1/audit?limit=1000');
    t.notMatch(JSON.stringify(foreign.body), key_id, 'of its own tenant only');
  });
}
