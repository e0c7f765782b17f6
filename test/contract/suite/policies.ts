import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { isoTime, type Lab } from './lab.ts';

const deny = (reason_code: string) => ({ rule_id: 'r', action: 'DENY', reason_code });

/** Resources: policy, rule. States and Versioning: policy versions. Endpoints: apply, by-name. */
export async function policies(t: Test, lab: Lab): Promise<void> {
  await t.test('Resources, policy: every field of apply and by-name', async (t) => {
    const { apply, api } = await lab.tenant('versions');
    const rule = {
      rule_id: 'all-fields',
      priority: 5,
      match: { tool_names: ['nothing-that-is'] },
      condition: { has_data_class: ['PHI'] },
      action: 'OPEN_INCIDENT',
      escalate_to: 'slack',
      tag: 'a-tag',
      incident_severity: 'HIGH',
      reason_code: 'ALL_FIELDS',
    };
    const applied = await apply([rule], {
      name: 'all fields',
      description: 'free text',
      env_name: 'production',
    });
    t.match(applied, {
      status: 200,
      body: {
        policy_id: String,
        name: 'all fields',
        env_name: 'production',
        version: 1,
        rules: [rule],
        warnings: Array,
      },
    });
    t.ok(applied.body.warnings.length > 0, 'a channel kind without a channel is a warning');
    const found = await api('GET', '/v1/policies/by-name/all%20fields?env=production');
    t.match(found, {
      status: 200,
      body: {
        policy_id: applied.body.policy_id,
        name: 'all fields',
        description: 'free text',
        env_name: 'production',
        version: 1,
        rules: [rule],
        created_at: isoTime,
        created_by: /./,
      },
    });
    const bare = await apply([{ rule_id: 'bare', match: { tool_name: 'nothing' }, action: 'ALLOW' }], {
      name: 'bare',
    });
    t.match(
      bare,
      { status: 200, body: { env_name: null, version: 1 } },
      'env_name omitted means all environments',
    );
  });

  await t.test('Endpoints, POST /v1/policies/apply: what is not valid', async (t) => {
    const { apply, api } = await lab.tenant('versions');
    const rule = { rule_id: 'r', action: 'ALLOW' };
    const refused: readonly [name: string, rules: unknown, fields: object, path: RegExp][] = [
      ['no name', [rule], { name: undefined }, /^name$/],
      ['a name with a slash', [rule], { name: 'a/b' }, /^name$/],
      ['a name over 128', [rule], { name: 'a'.repeat(129) }, /^name$/],
      ['an unknown environment', [rule], { env_name: 'moon' }, /^env_name/],
      ['no rules', undefined, {}, /^rules$/],
      ['an empty list of rules', [], {}, /^rules$/],
      ['rules that are an object', {}, {}, /^rules$/],
      ['a rule without id', [{ action: 'ALLOW' }], {}, /rules.*rule_id/],
      ['two rules of one id', [rule, rule], {}, /rules.*1.*rule_id/],
      ['a rule without action', [{ rule_id: 'r' }], {}, /rules.*action/],
      ['an unknown action', [{ ...rule, action: 'LAUGH' }], {}, /rules.*action/],
      ['a priority that is no integer', [{ ...rule, priority: 1.5 }], {}, /rules.*priority/],
      ['an unknown key of a rule', [{ ...rule, matches: {} }], {}, /rules/],
      ['an unknown match key', [{ ...rule, match: { tool_nmae: 'x' } }], {}, /rules.*match/],
      ['an unknown condition', [{ ...rule, condition: { has_dataclass: [] } }], {}, /rules.*condition/],
      [
        'an unknown data class',
        [{ ...rule, condition: { has_data_class: ['GOSSIP'] } }],
        {},
        /has_data_class/,
      ],
      ['an unknown verb', [{ ...rule, match: { verbs: ['FLY'] } }], {}, /verbs/],
      ['an agent id that is none', [{ ...rule, match: { agent_ids: ['me'] } }], {}, /agent_ids/],
      ['a risk score of 2', [{ ...rule, condition: { risk_score_gt: 2 } }], {}, /risk_score_gt/],
      ['a time zone that is none', [outside({ tz: 'Mars/Base' })], {}, /time_of_day_outside/],
      ['a time of 25:00', [outside({ start: '25:00' })], {}, /time_of_day_outside/],
      [
        'a path that is none',
        [{ ...rule, condition: { body_path_gt: { path: 'a', value: 1 } } }],
        {},
        /body_path_gt/,
      ],
      [
        'a comparison with a text',
        [{ ...rule, condition: { body_path_lt: { path: '$.a', value: 'x' } } }],
        {},
        /body_path_lt/,
      ],
      ['a reason code in lower case', [{ ...rule, reason_code: 'lower' }], {}, /reason_code/],
      ['an unknown severity', [{ ...rule, incident_severity: 'AWFUL' }], {}, /incident_severity/],
    ];
    for (const [name, rules, fields, path] of refused) {
      const reply = await apply(rules as unknown[], { name: 'refused', ...fields });
      t.match(
        reply,
        { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path, message: String }] } },
        name,
      );
    }
    t.match(await api('GET', '/v1/policies/by-name/refused'), { status: 404 }, 'nothing of it was applied');
  });

  await t.test(
    'States, policy versions; Versioning 2: each apply adds one, the latest is active',
    async (t) => {
      const { apply, api, scan } = await lab.tenant('versions');
      const name = `versions ${randomUUID()}`;
      const only = { agent_ids: [randomUUID()] };
      const agent_id = only.agent_ids[0];
      const reasons = async () => (await scan({ agent_id })).body.reason_codes;
      const first = await apply([{ ...deny('FIRST'), match: only }], { name });
      t.equal(first.body.version, 1);
      t.ok((await reasons()).includes('FIRST'), 'a policy holds from the next call on');
      const second = await apply([{ ...deny('SECOND'), match: only }], { name });
      t.match(second.body, { version: 2, unchanged: false });
      t.strictSame(
        [(await reasons()).includes('FIRST'), (await reasons()).includes('SECOND')],
        [false, true],
      );
      const same = await apply([{ ...deny('SECOND'), match: only }], { name });
      t.match(same.body, { version: 3, unchanged: true }, 'equal content still adds a version');
      const back = await apply([{ ...deny('FIRST'), match: only }], { name });
      t.equal(back.body.version, 4, "rollback is re-applying an earlier version's content");
      t.ok((await reasons()).includes('FIRST'));
      const path = `/v1/policies/by-name/${encodeURIComponent(name)}`;
      t.match(await api('GET', path), {
        status: 200,
        body: { version: 4, rules: [{ reason_code: 'FIRST' }] },
      });
      const listed = await api('GET', '/v1/policies?limit=1000');
      t.ok(
        listed.body.items?.some(
          (it: { name: string; version: number }) => it.name === name && it.version === 4,
        ),
        'the list has the latest',
      );
    },
  );

  await t.test('Resources, policy: a name is unique per environment', async (t) => {
    const { apply, api, scan, mint } = await lab.tenant('versions');
    const name = `by env ${randomUUID()}`;
    const agents = { production: randomUUID(), staging: randomUUID() };
    const match = { agent_ids: Object.values(agents) };
    await apply([{ ...deny('FOR_ALL'), match }], { name });
    const own = await apply([{ ...deny('FOR_STAGING'), match }], { name, env_name: 'staging' });
    t.equal(own.body.version, 1, 'another environment counts its own versions');
    const path = `/v1/policies/by-name/${encodeURIComponent(name)}`;
    t.match((await api('GET', `${path}?env=staging`)).body, {
      env_name: 'staging',
      rules: [{ reason_code: 'FOR_STAGING' }],
    });
    t.match((await api('GET', `${path}?env=production`)).body, {
      env_name: null,
      rules: [{ reason_code: 'FOR_ALL' }],
    });
    t.match((await api('GET', path)).body, { env_name: null });
    const production = (await scan({ agent_id: agents.production })).body.reason_codes;
    t.strictSame([production.includes('FOR_ALL'), production.includes('FOR_STAGING')], [true, false]);
    const { key } = await mint({ default_agent_id: agents.staging, env_name: 'staging' });
    const staging = (await scan({}, key)).body;
    const named = staging.matched_rules.map((it: { policy_name: string }) => it.policy_name);
    t.same(named, [name, name], 'in its environment both apply');
  });

  await t.test('Errors: an unknown policy name is 404, also when it exists in another tenant', async (t) => {
    const { api } = await lab.tenant('versions');
    const foreign = await lab.tenant('foreign');
    await foreign.apply([{ rule_id: 'r', match: { tool_name: 'x' }, action: 'ALLOW' }], { name: 'foreign' });
    for (const name of ['unknown', 'foreign']) {
      t.match(
        await api('GET', `/v1/policies/by-name/${name}`),
        { status: 404, body: { code: 'NOT_FOUND' } },
        name,
      );
    }
  });

  await t.test(
    'What the service does 5: policies in files, which the interface does not overwrite',
    async (t) => {
      const { scan, apply, mint } = await lab.tenant('stored');
      const filed = { url: 'https://filed.test/', agent_id: randomUUID() };
      t.match((await scan(filed)).body, { decision: 'DENY', reason_codes: ['FILED'], policy_name: 'filed' });
      const rules = [{ rule_id: 'r', match: { tool_name: 'nothing' }, action: 'ALLOW' }];
      t.match(
        await apply(rules, { name: 'filed', env_name: 'production' }),
        { status: 409, body: { code: 'CONFLICT' } },
        'a policy of a file is changed in its file',
      );
      t.equal((await scan(filed)).body.decision, 'DENY', 'and stays');
      const { key } = await mint({ default_agent_id: randomUUID(), env_name: 'staging' });
      t.equal(
        (await scan({ url: filed.url }, key)).body.decision,
        'ALLOW',
        'env_names: not in another environment',
      );
      const other = await lab.tenant('versions');
      const elsewhere = (await other.scan({ ...filed, agent_id: randomUUID() })).body;
      t.notOk(elsewhere.reason_codes.includes('FILED'), 'tenants: not for another one');
      const all = { url: 'https://filed-for-all.test/', agent_id: randomUUID() };
      t.match(
        (await other.scan(all)).body,
        { decision: 'DENY', policy_name: 'filed for all' },
        'omitted: for all',
      );
      t.match(
        await other.apply(rules, { env_names: ['staging', 'production'] }),
        { status: 400, body: { errors: [{ path: /^env_names/ }] } },
        'apply takes one environment; several belong into documents',
      );
    },
  );

  await t.test('What the service does 5: policies in YAML, and tried before they are applied', async (t) => {
    const { key, api } = await lab.tenant('versions');
    const body = 'name: in yaml\nrules:\n  - { rule_id: r, match: { tool_name: nothing }, action: DENY }\n';
    const yaml = await lab.call({
      method: 'POST',
      path: '/v1/policies/apply',
      authorization: `Bearer ${key}`,
      body,
      headers: { 'content-type': 'application/yaml' },
    });
    t.match(yaml, { status: 200, body: { name: 'in yaml', version: 1 } });
    const document = { name: 'tried', rules: [{ rule_id: 'r', action: 'DENY' }] };
    t.equal((await api('POST', '/v1/policies/validate', document)).status, 200, 'validate');
    t.equal((await api('GET', '/v1/policies/by-name/tried')).status, 404, 'what is validated is not applied');
  });

  await t.test('Endpoints: versions of a policy, newest first, by page, of one environment', async (t) => {
    const { apply, api } = await lab.tenant('versions');
    const name = `history ${randomUUID()}`;
    const match = { tool_name: 'nothing' };
    for (const code of ['ONE', 'TWO', 'THREE']) await apply([{ ...deny(code), match }], { name });
    await apply([{ ...deny('STAGING'), match }], { name, env_name: 'staging' });
    const path = `/v1/policies/by-name/${encodeURIComponent(name)}/versions`;
    const first = await api('GET', `${path}?limit=2`);
    t.match(first, {
      status: 200,
      body: {
        items: [
          { version: 3, rules: [{ reason_code: 'THREE' }], created_at: isoTime, archived_at: null },
          { version: 2, rules: [{ reason_code: 'TWO' }] },
        ],
        next_cursor: String,
      },
    });
    const rest = await api('GET', `${path}?limit=2&cursor=${first.body.next_cursor}`);
    t.match(rest.body, { items: [{ version: 1 }], next_cursor: null });
    t.match((await api('GET', `${path}?env=staging`)).body.items, [{ version: 1, env_name: 'staging' }]);
    t.equal((await api('GET', `${path}?env=production`)).status, 404, 'of exactly this environment');
    const foreign = await lab.tenant('foreign');
    t.equal((await foreign.api('GET', path)).status, 404, 'of this tenant');
  });

  await t.test('Endpoints: DELETE archives a policy, from the next call on', async (t) => {
    const { apply, api, scan } = await lab.tenant('versions');
    const name = `archived ${randomUUID()}`;
    const agent_id = randomUUID();
    const rules = [{ ...deny('STANDS'), match: { agent_ids: [agent_id] } }];
    const holds = async () => (await scan({ agent_id })).body.reason_codes.includes('STANDS');
    await apply(rules, { name });
    t.ok(await holds());
    const path = `/v1/policies/by-name/${encodeURIComponent(name)}`;
    const foreign = await lab.tenant('foreign');
    t.equal((await foreign.api('DELETE', path)).status, 404, 'another tenant does not');
    t.equal((await api('DELETE', `${path}?env=staging`)).status, 404, 'nor is there one for the environment');
    t.ok(await holds());
    t.match(await api('DELETE', path), {
      status: 200,
      body: { name, version: 1, env_name: null, archived_at: isoTime, source: 'api' },
    });
    t.notOk(await holds());
    t.equal((await api('GET', path)).status, 404);
    t.match(await api('DELETE', path), { status: 404, body: { code: 'NOT_FOUND' } }, 'once');
    const listed = (await api('GET', '/v1/policies?limit=1000')).body.items;
    t.notOk(listed.some((it: { name: string }) => it.name === name));
    t.match((await api('GET', `${path}/versions`)).body.items, [{ version: 1, archived_at: isoTime }]);
    t.match((await apply(rules, { name })).body, { version: 2 }, 'an apply goes on with the next version');
    t.ok(await holds());
  });

  await t.test(
    'Resources, policy: those of files are listed, and 409 CONFLICT to whoever changes them',
    async (t) => {
      const { api } = await lab.tenant('stored');
      const { items } = (await api('GET', '/v1/policies?limit=1000')).body;
      const filed = items.filter((it: { source: string }) => it.source === 'file');
      t.ok(filed.some((it: { name: string }) => it.name === 'filed'));
      t.ok(filed.some((it: { name: string }) => it.name === 'filed for all'));
      const { env_name: env } = filed.find((it: { name: string }) => it.name === 'filed');
      const path = `/v1/policies/by-name/filed?env=${env}`;
      t.match(await api('GET', path), { status: 200, body: { source: 'file', version: 1, env_name: env } });
      t.match(await api('DELETE', path), { status: 409, body: { code: 'CONFLICT' } });
      t.equal((await api('GET', path)).status, 200, 'and stays');
    },
  );

  await t.test(
    'Resources, policy: in monitor mode it is evaluated and recorded, and never decides',
    async (t) => {
      const { apply, scan } = await lab.tenant('versions');
      const name = `monitor ${randomUUID()}`;
      const agent_id = randomUUID();
      const rules = [{ ...deny('WATCHED'), match: { agent_ids: [agent_id] } }];
      t.match(await apply(rules, { name, mode: 'monitor' }), { status: 200, body: { mode: 'monitor' } });
      const watched = (await scan({ agent_id })).body;
      t.match(watched, { decision: 'ALLOW', would_be: 'DENY' });
      t.notOk(watched.reason_codes.includes('WATCHED'));
      await apply(rules, { name, mode: 'enforce' });
      t.match((await scan({ agent_id })).body, { decision: 'DENY', reason_codes: ['WATCHED'] });
    },
  );

  await t.test(
    'Endpoints, POST /v1/policies/simulate: given and recorded calls, without any effect',
    async (t) => {
      const { api, apply, scan } = await lab.tenant('versions');
      const agent_id = randomUUID();
      const call = { method: 'GET', url: 'https://simulated.test/', agent_id };
      const { trace_id } = (await scan(call)).body;
      const candidate = {
        name: `tried ${randomUUID()}`,
        rules: [{ ...deny('TRIED'), match: { agent_ids: [agent_id] } }],
      };
      const simulate = (more: object) =>
        api('POST', '/v1/policies/simulate', { policies: [candidate], ...more });
      const given = await simulate({ calls: [call, { ...call, agent_id: randomUUID() }] });
      const after = { decision: 'DENY', policy_name: candidate.name, rule_id: 'r' };
      t.match(given, { status: 200, body: { evaluated: 2, unchanged: 1, changed: [{ index: 0, after }] } });
      t.ok(given.body.changed[0].after.reason_codes.includes('TRIED'));
      const recorded = async () => (await simulate({ traces: { agent_id } })).body;
      let body = await recorded();
      // Lists have a trace within a second.
      while (body.evaluated === 0) body = await recorded();
      t.match(body, {
        evaluated: 1,
        unchanged: 0,
        undetermined: [],
        changed: [
          { trace_id, call: { method: call.method, url: call.url }, before: { decision: 'ALLOW' }, after },
        ],
      });
      t.notOk((await scan(call)).body.reason_codes.includes('TRIED'), 'nothing was applied');
      t.equal((await api('GET', `/v1/policies/by-name/${encodeURIComponent(candidate.name)}`)).status, 404);
      await apply(candidate.rules, { name: candidate.name });
      t.match(
        (await simulate({ calls: [call] })).body,
        { unchanged: 1 },
        'once applied it changes nothing any more',
      );
      t.match(
        (await scan(call)).body,
        { decision: 'DENY', policy_name: candidate.name },
        'and the live pipeline agrees',
      );
      t.match(await simulate({}), {
        status: 400,
        body: { code: 'VALIDATION_FAILED', errors: [{ path: 'calls' }] },
      });
    },
  );
}

const outside = (fields: object) => ({
  rule_id: 'r',
  action: 'DENY',
  condition: { time_of_day_outside: { start: '08:00', end: '18:00', tz: 'UTC', ...fields } },
});
