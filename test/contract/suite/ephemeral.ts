import type { Test } from 'tap';
import { eventually, isoTime, type Lab, uuid } from './lab.ts';

const isUnauthorized = (reply: { status: number }): boolean => reply.status === 401;

/** Resources: ephemeral key request. States: expiry. Authentication 9, 10. Limits 8. */
export async function ephemeralKeys(t: Test, lab: Lab): Promise<void> {
  await t.test('Resources, ephemeral key request: fields of request and answer', async (t) => {
    const { ephemeral, api, agentId } = await lab.tenant('ephemeral');
    const asked = { ttl_seconds: 60, max_uses: 5, scope: { tools: ['github'], verbs: ['READ', 'WRITE'] } };
    const askedMs = Date.now();
    const it = await ephemeral({ ...asked, description: 'one job' });
    t.match(it.key, /^iv_eph_[0-9A-Za-z]{49}$/, 'ephemeral keys start with iv_eph_');
    t.match(it, {
      key_id: uuid,
      ephemeral_id: it.key_id,
      prefix: it.key.slice(0, 12),
      expires_at: isoTime,
      max_uses: 5,
      scope: asked.scope,
    });
    const lifetimeMs = Date.parse(it['expires_at']) - askedMs;
    t.ok(lifetimeMs >= 59_000 && lifetimeMs <= 90_000, 'ttl_seconds is the lifetime in seconds');
    const shown = await api('GET', `/v1/keys/${it.key_id}`);
    t.match(shown, {
      status: 200,
      body: {
        type: 'ephemeral',
        status: 'active',
        description: 'one job',
        default_agent_id: agentId,
        permissions: ['scan'],
      },
    });
    t.notOk('key' in shown.body, 'the full key is returned exactly once');
  });

  await t.test('Limits 8: an ephemeral key lives 10 minutes by default', async (t) => {
    const { ephemeral } = await lab.tenant('ephemeral');
    const askedMs = Date.now();
    const it = await ephemeral();
    const lifetimeMs = Date.parse(it['expires_at']) - askedMs;
    t.ok(lifetimeMs > 595_000 && lifetimeMs < 660_000, 'the default corresponds to 10 minutes');
    t.notOk(it['max_uses'], 'without max_uses, uses are unlimited within the lifetime');
  });

  await t.test('Resources, ephemeral key request: bounds', async (t) => {
    const { api } = await lab.tenant('ephemeral');
    const refused: readonly [name: string, body: unknown, path: RegExp][] = [
      ['ttl_seconds of 0', { ttl_seconds: 0 }, /^ttl_seconds$/],
      ['ttl_seconds of a day and a second', { ttl_seconds: 86_401 }, /^ttl_seconds$/],
      ['ttl_seconds of 10^9', { ttl_seconds: 1e9 }, /^ttl_seconds$/],
      ['negative ttl_seconds', { ttl_seconds: -1 }, /^ttl_seconds$/],
      ['ttl_seconds of a half', { ttl_seconds: 1.5 }, /^ttl_seconds$/],
      ['ttl_seconds as text', { ttl_seconds: '60' }, /^ttl_seconds$/],
      ['max_uses of 0', { max_uses: 0 }, /^max_uses$/],
      ['max_uses of 1,001', { max_uses: 1001 }, /^max_uses$/],
      ['max_uses as text', { max_uses: 'many' }, /^max_uses$/],
      ['a scope that is a text', { scope: 'all' }, /^scope/],
      ['a scope that is a list', { scope: [] }, /^scope/],
      ['tools that are a text', { scope: { tools: 'github' } }, /^scope\.tools/],
      ['tools of numbers', { scope: { tools: [1] } }, /^scope\.tools/],
      ['an unknown verb', { scope: { verbs: ['FLY'] } }, /^scope\.verbs/],
      ['a description that is an object', { description: {} }, /^description/],
    ];
    for (const [name, body, path] of refused) {
      const reply = await api('POST', '/v1/keys/ephemeral', body);
      t.match(
        reply,
        { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path, message: String }] } },
        name,
      );
    }
    for (const body of [{ ttl_seconds: 1 }, { ttl_seconds: 86_400 }, { max_uses: 1 }, { max_uses: 1000 }]) {
      t.equal((await api('POST', '/v1/keys/ephemeral', body)).status, 201, `accepts ${JSON.stringify(body)}`);
    }
  });

  await t.test('States, API key status: an ephemeral key expires with its lifetime', async (t) => {
    const { ephemeral, scan, api } = await lab.tenant('ephemeral');
    const { key, key_id } = await ephemeral({ ttl_seconds: 1 });
    t.match(await eventually(() => scan({}, key), isUnauthorized), {
      status: 401,
      body: { code: 'INVALID_KEY' },
    });
    t.match(await api('GET', `/v1/keys/${key_id}`), { status: 200, body: { status: 'expired' } });
  });

  await t.test('States, API key status: an ephemeral key is used up by max_uses', async (t) => {
    const { ephemeral, scan, api } = await lab.tenant('ephemeral');
    const { key, key_id } = await ephemeral({ max_uses: 2 });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await scan({}, key)).status);
    t.same(statuses, [200, 200, 401], 'two uses, then no more');
    t.match(await scan({}, key), { status: 401, body: { code: 'INVALID_KEY' } });
    t.match(await api('GET', `/v1/keys/${key_id}`), {
      status: 200,
      body: { status: 'expired', expired_reason: 'max_uses' },
    });
    const shared = await ephemeral({ max_uses: 10 });
    const replies = await Promise.all(Array.from({ length: 30 }, () => scan({}, shared.key)));
    t.equal(replies.filter((it) => it.status === 200).length, 10, 'parallel calls get ten uses of ten');
  });

  await t.test('Authentication 10: the scope of an ephemeral key', async (t) => {
    const { ephemeral, scan, apply, admin, agentId } = await lab.tenant('ephemeral');
    const read = { method: 'GET', url: 'https://api.github.com/repos/acme/app', body: undefined };
    const write = {
      method: 'POST',
      url: 'https://api.github.com/repos/acme/app/issues',
      body: { title: 'x' },
    };
    const slack = {
      method: 'POST',
      url: 'https://slack.com/api/chat.postMessage',
      body: { channel: 'c', text: 'x' },
    };
    const cases: readonly [name: string, scope: object | undefined, call: object, isInside: boolean][] = [
      ['no scope is everything', undefined, slack, true],
      ['an empty scope is everything', {}, slack, true],
      ['tools without verbs: any verb', { tools: ['github'] }, write, true],
      ['another tool', { tools: ['github'] }, slack, false],
      ['one of several tools', { tools: ['github', 'slack'] }, slack, true],
      ['no tool at all', { tools: [] }, read, false],
      ['verbs without tools: any tool', { verbs: ['WRITE'] }, slack, true],
      ['a verb that is in it', { verbs: ['READ'] }, read, true],
      ['a verb that is not', { verbs: ['READ'] }, write, false],
      ['no verb at all', { verbs: [] }, read, false],
      ['tool right, verb wrong', { tools: ['github'], verbs: ['READ'] }, write, false],
      ['verb right, tool wrong', { tools: ['slack'], verbs: ['READ'] }, read, false],
    ];
    for (const [name, scope, call, isInside] of cases) {
      const { key } = await ephemeral(scope ? { scope } : {});
      const reply = await scan(call, key);
      if (isInside) t.notMatch(reply.body.reason_codes, ['EPHEMERAL_SCOPE_VIOLATION'], name);
      else {
        t.match(
          reply,
          {
            status: 200,
            body: { decision: 'DENY', reason_codes: ['EPHEMERAL_SCOPE_VIOLATION'], violations: [String] },
          },
          name,
        );
      }
      t.equal(reply.status, 200, `${name}: the scan itself is answered`);
    }
    const once = await ephemeral({ max_uses: 1, scope: { tools: ['github'] } });
    t.match(await scan(slack, once.key), { status: 200, body: { decision: 'DENY' } });
    t.match(await scan(read, once.key), { status: 401 }, 'a call that is out of scope spends a use');
    await apply([{ rule_id: 'allow-all', action: 'ALLOW', reason_code: 'ALL_ALLOWED' }]);
    const narrow = await ephemeral({ scope: { tools: ['github'] } });
    const denied = await scan(slack, narrow.key);
    t.match(denied.body, { decision: 'DENY' }, 'it is judged before policies');
    t.notOk(denied.body.reason_codes.includes('ALL_ALLOWED'));
    const incidents = await eventually(
      () => admin('GET', '/v1/incidents?limit=1000'),
      ({ body }) => Boolean(body?.items?.length),
    );
    t.ok(
      incidents.body?.items?.some((it: { agent_id: string }) => it.agent_id === agentId),
      'a scope violation opens an incident',
    );
  });

  await t.test('Endpoints, POST /v1/keys/ephemeral: what the child takes of its parent', async (t) => {
    const { mint, scan, api, admin } = await lab.tenant('ephemeral');
    const post = (key: string, body: object = {}) =>
      lab.call({ method: 'POST', path: '/v1/keys/ephemeral', authorization: `Bearer ${key}`, body });
    const parent = await mint({ default_agent_id: crypto.randomUUID(), env_name: 'staging' });
    const child = (await post(parent.key)).body;
    t.match(
      await api('GET', `/v1/keys/${child.key_id}`),
      { body: { tenant_id: 'ephemeral', env_name: 'staging', default_agent_id: parent['default_agent_id'] } },
      'tenant, environment and agent',
    );
    for (const [method, path] of [
      ['GET', '/v1/usage'],
      ['GET', '/v1/keys'],
      ['POST', '/v1/keys/ephemeral'],
      ['DELETE', `/v1/keys/${parent.key_id}`],
    ] as const) {
      const reply = await lab.call({
        method,
        path,
        authorization: `Bearer ${child.key}`,
        ...(method === 'POST' ? { body: {} } : {}),
      });
      t.match(
        reply,
        { status: 403, body: { code: 'FORBIDDEN' } },
        `its permission is scan, and not ${method} ${path.replace(parent.key_id, '…')}`,
      );
    }
    t.equal((await scan({}, child.key)).status, 200);
    await admin('PATCH', `/v1/keys/${parent.key_id}`, { ip_allowlist: ['192.0.2.1'] });
    const refused = { status: 403, body: { code: 'IP_NOT_ALLOWED' } };
    t.match(await scan({}, child.key), refused, 'the allowlist');
    for (const [method, path, body] of [
      ['GET', '/v1/tools', undefined],
      ['POST', '/v1/explain', { method: 'GET', url: 'https://api.example.com/' }],
    ] as const)
      t.match(await lab.call({ method, path, authorization: `Bearer ${child.key}`, body }), refused, path);
    await admin('PATCH', `/v1/keys/${parent.key_id}`, { ip_allowlist: null });
    await admin('DELETE', `/v1/keys/${parent.key_id}`);
    t.match(
      await scan({}, child.key),
      { status: 401, body: { code: 'INVALID_KEY' } },
      'it dies with its parent',
    );
    const direct = await post((await mint()).key);
    t.match(await admin('DELETE', `/v1/keys/${direct.body.key_id}`), {
      status: 200,
      body: { status: 'revoked' },
    });
    t.match(await scan({}, direct.body.key), { status: 401 }, 'an ephemeral key can be revoked');
    t.match(await post((await mint({ permissions: ['scan'] })).key), {
      status: 403,
      body: { code: 'FORBIDDEN' },
    });
  });
}
