import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { awsKeyId } from '../../support/secrets.ts';
import { type Lab, uuid } from './lab.ts';

/** What the service does 6. Resources: agent-to-agent message. Endpoints: /v1/a2a/scan. */
export async function agentToAgent(t: Test, lab: Lab): Promise<void> {
  const { agentId: from_agent_id, mint, api, admin, apply, key } = await lab.tenant('a2a');
  const to_agent_id = randomUUID();
  await mint({ default_agent_id: to_agent_id });
  const message = {
    from_agent_id,
    to_agent_id,
    method: 'delegate',
    intent: 'order pencils',
    payload: { count: 3 },
  };
  const send = (fields: object = {}) => api('POST', '/v1/a2a/scan', { ...message, ...fields });

  await t.test('Endpoints, POST /v1/a2a/scan: the scan answer, with both agents', async (t) => {
    const { status, body } = await send();
    t.match(
      { status, body },
      {
        status: 200,
        body: {
          decision: 'ALLOW',
          risk_score: Number,
          risk_band: String,
          reason_codes: Array,
          trace_id: uuid,
          tool_name: 'a2a',
          operation: 'delegate',
          classifications: [],
          signals: Array,
          from_agent_id,
          to_agent_id,
        },
      },
    );
    t.match(await admin('GET', `/v1/traces/${body.trace_id}`), {
      status: 200,
      body: { agent_id: from_agent_id },
    });
    t.equal((await send({ method: 'ask' })).body.operation, 'ask', 'operation is the method');
  });

  await t.test('What the service does 6: messages pass the same pipeline', async (t) => {
    t.match(
      (await send({ payload: { note: awsKeyId() } })).body,
      { classifications: ['SECRETS'] },
      'payload is read',
    );
    t.match(
      (await send({ intent: `use ${awsKeyId()}` })).body,
      { classifications: ['SECRETS'] },
      'intent is read',
    );
    await apply([
      {
        rule_id: 'r',
        match: { tool_name: 'a2a', operations: ['delegate'] },
        action: 'DENY',
        reason_code: 'NO_A2A',
      },
    ]);
    t.match((await send()).body, { decision: 'DENY', reason_codes: ['NO_A2A'] }, 'policies apply');
    t.equal((await send({ method: 'ask' })).body.decision, 'ALLOW', 'another method is another operation');
    const used = (await api('GET', '/v1/usage')).body.scans_used;
    await send();
    t.equal((await api('GET', '/v1/usage')).body.scans_used, used + 1, 'scans_used counts a2a');
  });

  await t.test(
    'Endpoints, POST /v1/a2a/scan: cross-tenant and cross-environment messages are rejected',
    async (t) => {
      const { agentId: foreign } = await lab.tenant('foreign');
      const staged = randomUUID();
      await mint({ default_agent_id: staged, env_name: 'staging' });
      const cases: readonly [name: string, fields: object, code: string][] = [
        ['to an agent of another tenant', { to_agent_id: foreign }, 'CROSS_TENANT'],
        ['from an agent of another tenant', { from_agent_id: foreign }, 'CROSS_TENANT'],
        ['to an unknown agent', { to_agent_id: randomUUID() }, 'CROSS_TENANT'],
        ['from an unknown agent', { from_agent_id: randomUUID() }, 'CROSS_TENANT'],
        ['to an agent of another environment', { to_agent_id: staged }, 'CROSS_ENVIRONMENT'],
        ['from an agent of another environment', { from_agent_id: staged }, 'CROSS_ENVIRONMENT'],
      ];
      for (const [name, fields, code] of cases) {
        const reply = await send(fields);
        t.match(reply, { status: 403, body: { code, reason: code, trace_id: uuid } }, name);
        t.equal(
          (await admin('GET', `/v1/traces/${reply.body.trace_id}`)).status,
          200,
          `${name}: leaves a trace`,
        );
      }
    },
  );

  await t.test('Resources, agent-to-agent message: required fields and their types', async (t) => {
    const cases: readonly [fields: object, path: RegExp][] = [
      [{ from_agent_id: undefined }, /^from_agent_id$/],
      [{ to_agent_id: 'me' }, /^to_agent_id$/],
      [{ method: undefined }, /^method$/],
      [{ method: 7 }, /^method$/],
      [{ intent: {} }, /^intent$/],
      [{ payload: 'text' }, /^payload$/],
    ];
    for (const [fields, path] of cases) {
      t.match(
        await send(fields),
        { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } },
        String(path),
      );
    }
    const reply = await lab.call({ method: 'POST', path: '/v1/a2a/scan', body: message });
    t.match(reply, { status: 401, body: { code: 'INVALID_KEY' } });
    t.ok(key, 'with a key it was answered');
  });
}
