import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { awsKeyId } from '../../support/secrets.ts';
import { eventually, type Lab, uuid } from './lab.ts';

const ssn = 'SSN 536-22-8726';

/** What the service does 1. Resources, rule: action and modifiers, priority. Events 1 and 2. Posture. */
export async function decisions(t: Test, lab: Lab): Promise<void> {
  await t.test('What the service does 1: each action and its decision', async (t) => {
    const { apply, scan } = await lab.tenant('actions');
    const cases: Readonly<Record<string, string>> = {
      ALLOW: 'ALLOW',
      DENY: 'DENY',
      SANITIZE: 'SANITIZE',
      REQUIRE_APPROVAL: 'REQUIRE_APPROVAL',
      OPEN_INCIDENT: 'DENY',
    };
    for (const [action, decision] of Object.entries(cases)) {
      const applied = await apply([{ rule_id: `rule-${action}`, action }]);
      const { status, body } = await scan({ agent_id: randomUUID() });
      t.match(
        { status, body },
        {
          status: 200,
          body: {
            decision,
            policy_id: applied.body.policy_id,
            policy_name: 'contract',
            reason_codes: [`POLICY_${action}`],
            matched_rules: [
              {
                policy_id: applied.body.policy_id,
                policy_name: 'contract',
                version: applied.body.version,
                rule_id: `rule-${action}`,
                action,
              },
            ],
          },
        },
        `${action} gives ${decision}, and names policy and rule`,
      );
      t.equal(
        'sanitized_body' in body,
        decision === 'SANITIZE',
        `${action}: sanitized_body on SANITIZE only`,
      );
      t.equal(
        'approval_id' in body,
        decision === 'REQUIRE_APPROVAL',
        `${action}: approval_id on REQUIRE_APPROVAL only`,
      );
      if (decision === 'REQUIRE_APPROVAL') t.match(body.approval_id, uuid, 'approval_id is a UUID');
      t.ok(body.explanation.length > 0, `${action}: the answer says why`);
    }
  });

  await t.test('Resources, rule: priority, the lower number evaluates first within a policy', async (t) => {
    const { apply, scan } = await lab.tenant('actions');
    const rule = (rule_id: string, action: string, more: object = {}) => ({ rule_id, action, ...more });
    const decided = async (...rules: object[]) => {
      await apply(rules);
      const { body } = await scan({ agent_id: randomUUID() });
      return body.matched_rules[0].rule_id;
    };
    t.equal(
      await decided(rule('late', 'DENY', { priority: 20 }), rule('soon', 'ALLOW', { priority: 10 })),
      'soon',
    );
    t.equal(
      await decided(rule('first', 'ALLOW', { priority: 1 }), rule('second', 'DENY', { priority: 1 })),
      'first',
      'then order',
    );
    const never = { match: { tool_name: 'nothing' }, priority: 1 };
    t.equal(await decided(rule('never', 'DENY', never), rule('then', 'ALLOW', { priority: 2 })), 'then');
  });

  await t.test('Decision: across policies the strictest wins', async (t) => {
    const { apply, scan } = await lab.tenant('decisions');
    const order = ['ALLOW', 'SANITIZE', 'REQUIRE_APPROVAL', 'DENY'];
    for (let weaker = 0; weaker + 1 < order.length; weaker++) {
      await apply([{ rule_id: 'weaker', action: order[weaker], priority: 1 }], { name: 'a' });
      await apply([{ rule_id: 'stricter', action: order[weaker + 1], priority: 9 }], { name: 'b' });
      const { body } = await scan({ agent_id: randomUUID() });
      t.match(
        body,
        { decision: order[weaker + 1], policy_name: 'b' },
        `${order[weaker + 1]} over ${order[weaker]}`,
      );
      t.equal(body.matched_rules.length, 2, 'all matches are told');
    }
    await apply([{ rule_id: 'z', action: 'DENY', priority: 2 }], { name: 'a' });
    await apply([{ rule_id: 'a', action: 'DENY', priority: 1 }], { name: 'b' });
    t.equal(
      (await scan({ agent_id: randomUUID() })).body.policy_name,
      'b',
      'equal actions: the lowest priority number',
    );
    await apply([{ rule_id: 'a', action: 'DENY', priority: 2 }], { name: 'b' });
    t.equal((await scan({ agent_id: randomUUID() })).body.policy_name, 'a', 'then the name of the policy');
    await apply([{ rule_id: 'a', match: { tool_name: 'nothing' }, action: 'DENY' }], { name: 'b' });
    await apply([{ rule_id: 'r', action: 'DENY' }], { name: 'a', mode: 'monitor' });
    const watched = (await scan({ agent_id: randomUUID() })).body;
    t.equal(watched.decision, 'ALLOW', 'a policy in mode monitor never decides');
    t.match(
      watched.explanation,
      [String, /^Rule "r" of policy "a" .* it would be DENY/],
      'it says which one',
    );
    t.match(watched.would_be, /./, 'and tells what it would have been');
    const tenant = await lab.tenant('watching');
    await tenant.apply([{ rule_id: 'r', action: 'DENY' }]);
    t.match((await tenant.scan()).body, { decision: 'ALLOW', would_be: /./ }, 'a tenant in mode monitor');
  });

  await t.test('Resources, rule: reason_code, tag, escalate_to', async (t) => {
    const { apply, scan, admin } = await lab.tenant('actions');
    const modifiers = { reason_code: 'OUR_OWN', tag: 'quarter-end', escalate_to: 'slack' };
    t.match(await apply([{ rule_id: 'r', action: 'DENY', ...modifiers }]), { status: 200 });
    const { body } = await scan({ agent_id: randomUUID() });
    t.equal(body.reason_codes[0], 'OUR_OWN', 'reason_code replaces the default one');
    t.notOk(body.reason_codes.includes('POLICY_DENY'));
    const trace = await admin('GET', `/v1/traces/${body.trace_id}`);
    t.match(
      trace,
      { status: 200, body: { reason_codes: ['OUR_OWN'], tags: ['quarter-end'] } },
      'Events 1: the trace has both',
    );
  });

  await t.test('Resources, rule: incident_severity; Events 2: OPEN_INCIDENT opens an incident', async (t) => {
    const { apply, scan, admin } = await lab.tenant('incidents');
    for (const incident_severity of ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']) {
      const agent_id = randomUUID();
      await apply([{ rule_id: 'r', action: 'OPEN_INCIDENT', incident_severity }]);
      const { body } = await scan({ agent_id });
      t.equal(body.decision, 'DENY');
      type Incident = { agent_id: string; severity: string; status: string; trace_ids?: string[] };
      const ours = async (): Promise<Incident[]> =>
        ((await admin('GET', '/v1/incidents?limit=1000')).body.items ?? []).filter(
          (it: Incident) => it.agent_id === agent_id,
        );
      const opened = await eventually(ours, (it) => it.length > 0);
      t.match(opened, [{ severity: incident_severity, status: 'open' }], incident_severity);
      await scan({ agent_id });
      t.equal((await ours()).length, 1, 'one open incident per agent and trigger collects traces');
    }
  });

  await t.test('SANITIZE: sanitized_body is redacted, to be forwarded instead of the original', async (t) => {
    const { apply, scan } = await lab.tenant('actions');
    await apply([{ rule_id: 'r', action: 'SANITIZE' }]);
    const secret = awsKeyId();
    const redact = async (body: unknown) =>
      (await scan({ agent_id: randomUUID(), body })).body.sanitized_body;
    t.same(
      await redact({ note: `use ${secret} now`, count: 3 }),
      { note: 'use [REDACTED:aws-access-key-id] now', count: 3 },
      'an object stays an object',
    );
    t.same(await redact(['a', secret]), ['a', '[REDACTED:aws-access-key-id]'], 'an array stays an array');
    t.equal(await redact(`k=${secret}.`), 'k=[REDACTED:aws-access-key-id].', 'text stays text');
    t.same(await redact({ note: ssn }), { note: 'SSN [REDACTED:us-ssn]' }, 'PII');
    const encoded = await redact({ note: Buffer.from(`the id is ${secret}`).toString('base64') });
    t.match(encoded.note, /^\[REDACTED:[a-z-]+\]$/, 'an encoded value is replaced whole');
    t.same(await redact({ n: 1 }), { n: 1 }, 'nothing to redact: the body is unchanged');
    const unsanitizable = (
      await scan({ agent_id: randomUUID(), url: `https://api.partner.test/?k=${secret}` })
    ).body;
    t.match(unsanitizable, { decision: 'DENY' }, 'what sits in the URL cannot be redacted');
    t.ok(unsanitizable.reason_codes.includes('UNSANITIZABLE'));
    await apply([{ rule_id: 'r', condition: { has_data_class: ['PII'] }, action: 'SANITIZE' }]);
    const named = await redact({ a: ssn, b: 'MRN: 00482913', c: secret });
    t.same(
      named,
      { a: 'SSN [REDACTED:us-ssn]', b: 'MRN: 00482913', c: '[REDACTED:aws-access-key-id]' },
      'the classes that the rule names, and SECRETS always',
    );
  });

  await t.test('Decision: without a rule the posture decides', async (t) => {
    const plain = await lab.tenant('scanning');
    const key = awsKeyId();
    const secret = { body: { note: key } };
    const cases: readonly [name: string, call: object, decision: string, reasons: readonly string[]][] = [
      ['SECRETS', secret, 'SANITIZE', ['SECRETS']],
      ['PII', { body: { a: ssn } }, 'ALLOW', []],
      ['PHI', { body: { a: 'MRN: 00482913' } }, 'ALLOW', []],
      ['INTERNAL', { body: 'INTERNAL USE ONLY. The plan' }, 'ALLOW', []],
      ['nothing', {}, 'ALLOW', []],
    ];
    for (const [name, call, decision, reasons] of cases) {
      const { body } = await plain.scan({ agent_id: randomUUID(), ...call });
      t.equal(body.decision, decision, `by default: ${name}: ${decision}`);
      t.same(body.reason_codes.slice(0, reasons.length), reasons, `${name}: the class is the reason`);
      t.notOk('policy_id' in body, `${name}: no policy decided`);
    }
    const cut = (await plain.scan({ agent_id: randomUUID(), ...secret })).body.sanitized_body;
    t.same(cut, { note: '[REDACTED:aws-access-key-id]' });
    for (const [id, decision] of [
      ['posture-by-risk', 'REQUIRE_APPROVAL'],
      ['posture-of-bands', 'DENY'],
    ] as const) {
      const { body } = await (await lab.tenant(id)).scan(secret);
      t.match(body, { decision, risk_band: 'HIGH', reason_codes: ['RISK_HIGH'] }, `${id}: the band decides`);
    }
    const strict = await lab.tenant('posture');
    t.equal((await strict.scan(secret)).body.decision, 'DENY', 'secrets: DENY');
    t.equal(
      (await strict.scan({ agent_id: randomUUID(), body: { a: ssn } })).body.decision,
      'SANITIZE',
      'pii: SANITIZE',
    );
    t.equal(
      (await strict.scan({ agent_id: randomUUID(), body: 'INTERNAL USE ONLY. The plan' })).body.decision,
      'DENY',
      'internal: DENY',
    );
    await strict.apply([{ rule_id: 'r', action: 'ALLOW' }]);
    t.equal((await strict.scan(secret)).body.decision, 'ALLOW', 'a rule that allows overrides the posture');
  });

  await t.test('Decision: the denylist and a suspended agent go before policies', async (t) => {
    const denying = await lab.tenant('denying');
    await denying.apply([{ rule_id: 'r', action: 'ALLOW' }]);
    for (const url of ['https://www.evil.test/', 'https://files.test/private/x']) {
      t.match((await denying.scan({ url })).body, { decision: 'DENY', reason_codes: ['DENYLISTED'] }, url);
    }
    t.equal((await denying.scan({ url: 'https://files.test/public/x' })).body.decision, 'ALLOW');
    const { apply, scan, admin, agentId } = await lab.tenant('agents');
    await apply([{ rule_id: 'r', match: { agent_ids: [agentId] }, action: 'ALLOW' }]);
    t.match(await admin('POST', `/v1/agents/${agentId}/suspend`), {
      status: 200,
      body: { status: 'suspended' },
    });
    t.match((await scan()).body, { decision: 'DENY', reason_codes: ['AGENT_SUSPENDED'] });
    t.match(await admin('POST', `/v1/agents/${agentId}/reactivate`), {
      status: 200,
      body: { status: 'active' },
    });
    t.equal((await scan()).body.decision, 'ALLOW');
  });
}
