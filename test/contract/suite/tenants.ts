import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { eventually, type Lab, type Tenant } from './lab.ts';

/** What the service does: all resources are scoped to a tenant. Decisions 8: lists and their pages. */
export async function tenants(t: Test, lab: Lab): Promise<void> {
  await t.test('What the service does: all resources are scoped to a tenant', async (t) => {
    const own = await lab.tenant('errors');
    const foreign = await lab.tenant('foreign');
    const { ids, policy } = await fill(foreign);
    const all = (await own.mint({ permissions: ['admin'] })).key;
    const decision = { decision: 'approved' };
    const cases: readonly [method: string, path: string, id: string, body?: object][] = [
      ['GET', '/v1/keys/ID', ids.key],
      ['GET', '/v1/keys/ID/audit', ids.key],
      ['PATCH', '/v1/keys/ID', ids.key, { name: 'taken over' }],
      ['DELETE', '/v1/keys/ID', ids.key],
      ['GET', '/v1/agents/ID', ids.agent],
      ['PATCH', '/v1/agents/ID', ids.agent, { name: 'taken over' }],
      ['POST', '/v1/agents/ID/suspend', ids.agent, {}],
      ['POST', '/v1/agents/ID/reactivate', ids.agent, {}],
      ['POST', '/v1/agents/ID/reset-trust', ids.agent, {}],
      ['GET', '/v1/approvals/ID', ids.approval],
      ['GET', '/v1/approvals/ID/status', ids.approval],
      ['GET', '/v1/approvals/ID/wait?timeout=1', ids.approval],
      ['POST', '/v1/approvals/ID/decision', ids.approval, decision],
      ['GET', '/v1/incidents/ID', ids.incident],
      ['POST', '/v1/incidents/ID/transition', ids.incident, { status: 'investigating' }],
      ['POST', '/v1/incidents/ID/notes', ids.incident, { text: 'seen' }],
      ['GET', '/v1/traces/ID', ids.trace],
    ];
    for (const [method, path, id, body] of cases) {
      const ask = (one: string) =>
        lab.call({ method, path: path.replace('ID', one), authorization: `Bearer ${all}`, body });
      const [known, unknown] = [await ask(id), await ask(randomUUID())];
      t.match(known, { status: 404, body: { code: 'NOT_FOUND' } }, `${method} ${path}`);
      t.strictSame(
        [known.status, known.body],
        [unknown.status, unknown.body],
        `${method} ${path}: as if it did not exist`,
      );
      const rubbish = await ask('rubbish');
      t.match(rubbish, { status: 404, body: { code: 'NOT_FOUND' } }, `${method} ${path}: an id that is none`);
    }
    const named = [
      ['GET', `/v1/policies/by-name/${policy}`],
      ['DELETE', `/v1/credentials/${policy}`],
      ['GET', `/v1/inbound-routes/${prefixOf(policy)}`],
      ['DELETE', `/v1/inbound-routes/${prefixOf(policy)}`],
    ] as const;
    for (const [method, path] of named) {
      const reply = await lab.call({ method, path, authorization: `Bearer ${all}` });
      t.match(reply, { status: 404, body: { code: 'NOT_FOUND' } }, `${method} ${path.replace(policy, '…')}`);
    }
    const response = { trace_id: ids.trace, response_body: 'x', response_status: 200 };
    t.equal((await own.api('POST', '/v1/scan/response', response)).status, 404, 'POST /v1/scan/response');
    for (const path of [...lists, '/v1/traces/export', '/v1/stats']) {
      const reply = await lab.call({
        method: 'GET',
        path: `${path}?limit=1000`,
        authorization: `Bearer ${all}`,
      });
      t.equal(reply.status, 200, path);
      // An export of nothing is empty.
      const text = JSON.stringify(reply.body ?? null);
      for (const id of [...Object.values(ids), policy])
        t.notOk(text.includes(id), `${path} lists nothing foreign`);
    }
    t.equal((await foreign.scan()).status, 200, 'and what was tried had no effect: the foreign key works');
    t.match(await foreign.admin('GET', `/v1/approvals/${ids.approval}`), { body: { status: 'pending' } });
    t.match(await foreign.admin('GET', `/v1/agents/${ids.agent}`), { body: { status: 'active' } });
    t.match(await foreign.admin('GET', `/v1/incidents/${ids.incident}`), { body: { status: 'open' } });
  });

  await t.test('Lists: pages by limit and cursor, which together are the whole list', async (t) => {
    const tenant = await lab.tenant('listed');
    const { key_id } = await tenant.mint();
    for (const name of ['one', 'two', 'three']) {
      await tenant.admin('PATCH', `/v1/keys/${key_id}`, { name });
      await fill(tenant);
    }
    const traces = await eventually(
      () => tenant.admin('GET', '/v1/traces?limit=1000'),
      ({ body }) => body.items.length >= 6,
    );
    t.ok(traces.body.items.length >= 6, 'traces are in lists soon');
    for (const path of [...lists, `/v1/keys/${key_id}/audit`]) {
      const name = path.replace(key_id, '…');
      const whole = await tenant.admin('GET', `${path}?limit=1000`);
      t.match(whole, { status: 200, body: { items: Array, next_cursor: null } }, name);
      t.ok(whole.body.items.length >= 3, `${name}: has several`);
      const paged: unknown[] = [];
      let cursor: string | null = '';
      let largest = 0;
      while (cursor !== null && paged.length <= whole.body.items.length) {
        const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const { body } = await tenant.admin('GET', `${path}?limit=2${after}`);
        largest = Math.max(largest, body.items.length);
        paged.push(...body.items);
        cursor = body.next_cursor;
      }
      t.equal(largest, 2, `${name}: limit`);
      t.strictSame(paged, whole.body.items, `${name}: the pages are the list`);
      t.match(await tenant.admin('GET', path), { body: { items: { length: Math.min(100, paged.length) } } });
      for (const query of ['limit=0', 'limit=1001', 'limit=-1', 'limit=1.5', 'limit=x', 'limit=']) {
        const reply = await tenant.admin('GET', `${path}?${query}`);
        t.match(reply, { status: 400, body: { code: 'VALIDATION_FAILED' } }, `${name}: ${query}`);
      }
      for (const rubbish of ['%00rubbish', 'rubbish', '-1']) {
        const reply = await tenant.admin('GET', `${path}?cursor=${rubbish}`);
        const body = { code: 'VALIDATION_FAILED', errors: [{ path: 'cursor', message: String }] };
        t.match(reply, { status: 400, body }, `${name}: cursor ${rubbish}`);
      }
    }
  });
}

const lists = [
  '/v1/keys',
  '/v1/agents',
  '/v1/policies',
  '/v1/approvals',
  '/v1/incidents',
  '/v1/traces',
  '/v1/audit',
  '/v1/credentials',
  '/v1/inbound-routes',
];

/** Of a route, as a name of its own. */
const prefixOf = (policy: string): string => policy.slice(0, 32);

/** One of each kind in the tenant; what policy and credential are called is new each time. */
async function fill({ apply, scan, admin, mint }: Tenant) {
  const policy = `of-${randomUUID()}`;
  const url = `https://${policy}.test/`;
  await apply([{ rule_id: 'ask', match: { url_patterns: [url] }, action: 'REQUIRE_APPROVAL' }], {
    name: policy,
  });
  await admin('PUT', `/v1/credentials/${policy}`, { type: 'bearer', secret: { value: 'x'.repeat(20) } });
  await admin('POST', '/v1/inbound-routes', {
    prefix: prefixOf(policy),
    upstream: 'https://api.example.com',
  });
  const held = (await scan({ url })).body;
  // One open incident per agent: each gets one of its own.
  const agentId = randomUUID();
  const key = await mint({ default_agent_id: agentId });
  const incident = await admin('POST', '/v1/incidents', {
    title: policy,
    severity: 'LOW',
    agent_id: agentId,
  });
  const trace = (await scan()).body.trace_id;
  const ids: Readonly<Record<'key' | 'agent' | 'approval' | 'incident' | 'trace', string>> = {
    key: key.key_id,
    agent: agentId,
    approval: held.approval_id,
    incident: incident.body.incident_id,
    trace,
  };
  return { ids, policy };
}
