import { createHash, randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { eventually, isoTime, type Lab, uuid } from './lab.ts';

/** Resources: API key. States: API key status. Authentication 1 to 8. */
export async function keys(t: Test, lab: Lab): Promise<void> {
  await t.test('Resources, API key: every field, at the mint and afterwards', async (t) => {
    const { mint, api, agentId, scan, id } = await lab.tenant('keys');
    const fields = {
      name: 'billing bot',
      description: 'of the month end',
      ip_allowlist: ['127.0.0.0/8', '::1'],
    };
    const minted = await mint(fields);
    t.match(minted.key, /^iv_live_[0-9A-Za-z]{49}$/, 'live keys start with iv_live_');
    t.equal(minted.prefix, minted.key.slice(0, 12), 'prefix is the first 12 characters of the key');
    t.match(
      minted,
      {
        key_id: uuid,
        ...fields,
        tenant_id: id,
        env_name: 'production',
        default_agent_id: agentId,
        type: 'live',
        status: 'active',
        permissions: Array,
        created_at: isoTime,
      },
      'the answer of the mint has all fields',
    );
    const path = `/v1/keys/${minted.key_id}`;
    const before = await api('GET', path);
    t.match(
      before,
      {
        status: 200,
        body: { ...fields, key_id: minted.key_id, prefix: minted.prefix, calls_24h: 0, blocked_attempts: 0 },
      },
      'the key can be read with its derived fields',
    );
    t.equal(before.body.last_seen, null, 'a key that made no call was never seen');
    t.notOk('key' in before.body, 'the full key is not shown again');
    await scan({}, minted.key);
    await scan({}, minted.key);
    const after = await api('GET', path);
    t.equal(after.body.calls_24h, 2, 'calls (24h) counts the calls');
    t.match(after.body.last_seen, isoTime, 'last seen is the time of the most recent successful call');
    const listed = await api('GET', '/v1/keys?limit=1000');
    t.match(listed, { status: 200, body: { items: Array, next_cursor: null } }, 'keys are listed');
    t.ok(
      listed.body.items.some((it: { key_id: string }) => it.key_id === minted.key_id),
      'the list has the key',
    );
    t.notMatch(JSON.stringify(listed.body), minted.key, 'no list shows the full key');
    const bare = await mint({ name: 'bare' });
    t.match(bare, { description: null, ip_allowlist: null }, 'description and IP allowlist are optional');
  });

  await t.test('Resources, API key: the permissions of a mint without the field', async (t) => {
    const { mint, scan } = await lab.tenant('keys');
    const standing =
      'scan policies:read policies:write keys:read keys:ephemeral keys:revoke activity:read usage:read';
    t.same([...(await mint()).permissions].sort(), standing.split(' ').sort());
    const reader = await mint({ permissions: ['usage:read'] });
    t.match(
      await scan({}, reader.key),
      { status: 403, body: { code: 'FORBIDDEN', detail: /\bscan\b/ } },
      'what is lacking is named',
    );
    const all = await mint({ permissions: ['admin'] });
    t.match(await scan({}, all.key), { status: 200 }, 'admin stands for all of them');
  });

  await t.test('Resources, API key: changes and their audit trail', async (t) => {
    const { mint, admin, api, scan } = await lab.tenant('keys');
    const { key, key_id, prefix } = await mint({ name: 'before' });
    const path = `/v1/keys/${key_id}`;
    const changes = { name: 'after', description: 'changed', ip_allowlist: ['192.0.2.0/24'] };
    t.match(
      await admin('PATCH', path, changes),
      { status: 200, body: changes },
      'name, description, allowlist change',
    );
    t.match(await api('GET', path), { status: 200, body: changes }, 'the change stays');
    t.equal((await admin('DELETE', path)).status, 200);
    const audit = await api('GET', `${path}/audit`);
    t.match(audit, { status: 200, body: { items: Array } });
    const kinds = audit.body.items.map((it: { kind: string }) => it.kind);
    t.ok(kinds.includes('key.created'), 'the audit log has the creation');
    t.ok(kinds.includes('key.revoked'), 'the audit log keeps the history of a revoked key');
    t.same(
      audit.body.items.map((it: { operator: string }) => it.operator),
      ['admin', 'admin', 'admin'],
      'each entry names the operator',
    );
    const revoker = await mint({ permissions: ['keys:revoke'] });
    const other = await mint();
    await scan({}, other.key);
    t.match(
      await lab.call({
        method: 'DELETE',
        path: `/v1/keys/${other.key_id}`,
        authorization: `Bearer ${revoker.key}`,
      }),
      { status: 200, body: { revoked_by: revoker['prefix'], revoked_at: isoTime } },
    );
    t.match(
      (await api('GET', `/v1/keys/${other.key_id}/audit`)).body.items[0],
      {
        kind: 'key.revoked',
        operator: revoker['prefix'],
        details: { prefix: other['prefix'], last_seen: isoTime },
      },
      'the last call and the revoking operator; a key is named by its prefix',
    );
    const text = JSON.stringify(audit.body);
    t.ok(text.includes(prefix), 'the audit log records the prefix');
    t.notOk(text.includes(key), 'the audit log never has the full key');
    t.notOk(text.includes(createHash('sha256').update(key).digest('hex')), 'nor its digest');
  });

  await t.test('States, API key status: active to revoked', async (t) => {
    const { mint, scan, admin, api, keyId } = await lab.tenant('lifecycle');
    const { key, key_id } = await mint();
    t.match(await scan({}, key), { status: 200 }, 'an active key works');
    t.match(
      await api('DELETE', `/v1/keys/${key_id}`),
      { status: 200, body: { key_id, status: 'revoked' } },
      'DELETE with another valid key revokes',
    );
    t.match(
      await scan({}, key),
      { status: 401, body: { code: 'INVALID_KEY' } },
      'the next call with a revoked key is 401 immediately',
    );
    t.match(
      await api('DELETE', `/v1/keys/${key_id}`),
      { status: 200, body: { status: 'revoked' } },
      'again: the same',
    );
    t.match(
      await api('GET', `/v1/keys/${key_id}`),
      { status: 200, body: { status: 'revoked' } },
      'its history is kept',
    );
    t.match(
      await api('DELETE', `/v1/keys/${keyId}`),
      { status: 409, body: { code: 'CONFLICT' } },
      'a key does not revoke itself',
    );
    t.match(await api('DELETE', `/v1/keys/${randomUUID()}`), { status: 404, body: { code: 'NOT_FOUND' } });
    t.match(
      await lab.call({ method: 'DELETE', path: `/v1/keys/${keyId}`, authorization: `Bearer ${key}` }),
      { status: 401, body: { code: 'INVALID_KEY' } },
      'a key that is revoked revokes nothing',
    );
    const foreign = await (await lab.tenant('foreign')).mint();
    t.match(
      await api('DELETE', `/v1/keys/${foreign.key_id}`),
      { status: 404, body: { code: 'NOT_FOUND' } },
      'a key of another tenant is not there',
    );
    t.match(
      await admin('DELETE', `/v1/keys/${(await mint()).key_id}`),
      { status: 200, body: { status: 'revoked' } },
      'the administration secret revokes, too',
    );
  });

  await t.test('States, API key status: an old and a new key are both valid during a rotation', async (t) => {
    const { mint, scan, api } = await lab.tenant('lifecycle');
    const old = await mint({ name: 'old' });
    const young = await mint({ name: 'new' });
    t.match(await scan({}, old.key), { status: 200 });
    t.match(await scan({}, young.key), { status: 200 });
    t.match(
      await api('GET', `/v1/keys/${old.key_id}`),
      { body: { calls_24h: 1 } },
      'Authentication 6: calls (24h) of the old key tell whether it is in use',
    );
    t.match(await api('DELETE', `/v1/keys/${old.key_id}`), { status: 200 });
    t.match(await scan({}, old.key), { status: 401 });
    t.match(await scan({}, young.key), { status: 200 }, 'rotation needs no downtime');
  });

  await t.test('Authentication 1, 2: missing, malformed and unknown keys give 401 INVALID_KEY', async (t) => {
    const { key } = await lab.tenant('keys');
    const lastOther = key.endsWith('0') ? '1' : '0';
    const cases: Readonly<Record<string, string | undefined>> = {
      'no header': undefined,
      'an empty one': '',
      'the scheme alone': 'Bearer',
      'another scheme': `Token ${key}`,
      'the key without a scheme': key,
      Basic: `Basic ${Buffer.from(`x:${key}`).toString('base64')}`,
      'two keys': `Bearer ${key} ${key}`,
      'another prefix': `Bearer iv_test_${key.slice(8)}`,
      'the prefix of the other type': `Bearer iv_eph_${key.slice(8)}`,
      'a wrong checksum': `Bearer ${key.slice(0, -1)}${lastOther}`,
      'a shorter one': `Bearer ${key.slice(0, -1)}`,
      'a longer one': `Bearer ${key}0`,
      'another case': `Bearer ${key.toUpperCase()}`,
      'quotes around it': `Bearer "${key}"`,
      rubbish: 'Bearer %00%ff',
      'a prefix alone': 'Bearer iv_live_',
    };
    for (const [name, authorization] of Object.entries(cases)) {
      const reply = await lab.call({
        method: 'GET',
        path: '/v1/usage',
        ...(authorization === undefined ? {} : { authorization }),
      });
      t.match(reply, { status: 401, body: { code: 'INVALID_KEY', status: 401 } }, name);
    }
    const accepted = await lab.call({ method: 'GET', path: '/v1/usage', authorization: `bearer ${key}` });
    t.equal(accepted.status, 200, 'the name of a scheme has no case (RFC 9110, 11.1)');
  });

  await t.test('Authentication 2: what is no key is turned away without asking the state', async (t) => {
    const { key } = await lab.tenant('keys');
    const wrong = [`iv_test_${key.slice(8)}`, key.slice(0, -1), `${key}0`, `Bearer ${key}`, 'rubbish'];
    for (let n = 0; n < 35; n++) {
      const digit = key[10 + n] === '7' ? '8' : '7';
      wrong.push(`${key.slice(0, 10 + n)}${digit}${key.slice(11 + n)}`);
    }
    const before = await lab.state.asked();
    const rounds = 15;
    for (const one of Array.from({ length: rounds }, () => wrong).flat()) {
      const headers = lab.fromElsewhere();
      const reply = await lab.call({
        method: 'GET',
        path: '/v1/usage',
        authorization: `Bearer ${one}`,
        headers,
      });
      if (reply.status !== 401) t.fail(`the answer is ${reply.status}`);
    }
    const asked = (await lab.state.asked()) - before;
    // Whatever else goes on asks, too: traces of earlier calls are on their way.
    t.ok(asked < (rounds * wrong.length) / 3, 'many wrong keys, and far fewer questions');
  });

  await t.test('Authentication 3, 4: IP allowlists', async (t) => {
    const { mint, scan, api, apply } = await lab.tenant('keys');
    await apply([{ rule_id: 'all', action: 'DENY' }], { name: 'after-the-allowlist' });
    const away = await mint({ ip_allowlist: ['192.0.2.0/24', '2001:db8::/32'] });
    const refused = await scan({}, away.key);
    t.match(
      refused,
      { status: 403, body: { code: 'IP_NOT_ALLOWED', reason: 'IP_NOT_ALLOWED', status: 403 } },
      'an address outside the allowlist is refused before the policy runs',
    );
    t.notOk('decision' in refused.body, 'no decision is made');
    await scan({}, away.key);
    t.match(
      await api('GET', `/v1/keys/${away.key_id}`),
      { body: { blocked_attempts: 2, calls_24h: 0, last_seen: null } },
      'the blocked-attempts counter increases, and nothing else',
    );
    t.match(await lab.call({ method: 'GET', path: '/v1/usage', authorization: `Bearer ${away.key}` }), {
      status: 403,
      body: { code: 'IP_NOT_ALLOWED' },
    });
    t.match(
      await api('GET', `/v1/keys/${away.key_id}`),
      { body: { blocked_attempts: 3 } },
      'on any endpoint',
    );
    const allowed: Readonly<Record<string, readonly string[]>> = {
      '0.0.0.0/0 allows every address': ['0.0.0.0/0'],
      'a range with the address in it': ['127.0.0.0/8'],
      'the address itself': ['127.0.0.1'],
      'one of several': ['192.0.2.0/24', '127.0.0.1/32'],
      'the address mapped into IPv6': ['::ffff:127.0.0.1'],
    };
    for (const [name, ip_allowlist] of Object.entries(allowed)) {
      t.equal((await scan({}, (await mint({ ip_allowlist })).key)).status, 200, name);
    }
    t.equal(
      (await scan({}, (await mint({ ip_allowlist: ['127.0.0.2/32'] })).key)).status,
      403,
      'a neighbour is another',
    );
  });

  await t.test('Endpoints, POST /v1/keys: who may mint', async (t) => {
    const { key, agentId, id, mint } = await lab.tenant('keys');
    const body = { tenant_id: id, name: 'n', default_agent_id: agentId };
    const post = (authorization: string, fields: object = body) =>
      lab.call({ method: 'POST', path: '/v1/keys', authorization, body: fields });
    t.match(
      await post('Bearer not-the-secret'),
      { status: 401, body: { code: 'INVALID_KEY' } },
      'a wrong secret',
    );
    t.match(await post(`Bearer ${key}`), { status: 403, body: { code: 'FORBIDDEN' } }, 'a key without admin');
    const admin = `Bearer ${(await mint({ permissions: ['admin'] })).key}`;
    t.match(
      await post(admin),
      { status: 201, body: { tenant_id: id } },
      'a key with admin, for its own tenant',
    );
    t.match(
      await post(admin, { ...body, tenant_id: 'foreign' }),
      { status: 403, body: { code: 'FORBIDDEN' } },
      'a key with admin mints for no other tenant',
    );
    const registered = `registered-${randomUUID()}`;
    t.match(
      await post(`Bearer ${lab.adminSecret}`, {
        ...body,
        tenant_id: registered,
        default_agent_id: randomUUID(),
      }),
      { status: 201, body: { tenant_id: registered, env_name: 'default' } },
      'a tenant unknown to the configuration is registered',
    );
  });

  await t.test('Endpoints, POST /v1/keys: the secret does not open what agents use', async (t) => {
    const secret = `Bearer ${lab.adminSecret}`;
    for (const path of ['/v1/scan', '/v1/a2a/scan', '/v1/keys/ephemeral', '/inbound/by-key/x']) {
      const reply = await lab.call({ method: 'POST', path, authorization: secret, body: {} });
      t.match(reply, { status: 401, body: { code: 'INVALID_KEY' } }, path);
    }
  });

  await t.test('Endpoints, POST /v1/keys: agents and environments', async (t) => {
    const { id, agentId, mint, admin, scan } = await lab.tenant('keys');
    const refused = async (fields: object) =>
      admin('POST', '/v1/keys', { tenant_id: id, name: 'n', default_agent_id: agentId, ...fields });
    const created = randomUUID();
    await mint({ default_agent_id: created });
    t.match(await admin('GET', `/v1/agents/${created}`), { status: 200 }, 'an unknown agent is created');
    const { agentId: foreignAgent } = await lab.tenant('foreign');
    t.match(await refused({ default_agent_id: foreignAgent }), { status: 404, body: { code: 'NOT_FOUND' } });
    t.match(
      await refused({ env_name: 'staging' }),
      { status: 400 },
      "an environment that is not the agent's",
    );
    const staged = await mint({ default_agent_id: randomUUID(), env_name: 'staging' });
    t.equal(staged.env_name, 'staging');
    t.match(await scan({ env: 'production' }, staged.key), {
      status: 403,
      body: { code: 'CROSS_ENVIRONMENT' },
    });
    const wide = await mint({ env_names: ['staging'] });
    t.match(await scan({ env: 'staging' }, wide.key), { status: 200 }, 'a key works in those of env_names');
  });

  await t.test('Endpoints, POST /v1/keys: bounds of a key by time and rate', async (t) => {
    const { mint, scan, admin, id, agentId } = await lab.tenant('keys');
    const past = new Date(Date.now() - 60_000).toISOString();
    t.match(
      await admin('POST', '/v1/keys', {
        tenant_id: id,
        name: 'n',
        default_agent_id: agentId,
        expires_at: past,
      }),
      { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path: 'expires_at' }] } },
      'expires_at lies in the future',
    );
    const brief = await mint({ expires_at: new Date(Date.now() + 1500).toISOString() });
    const isRefused = ({ status }: { status: number }) => status === 401;
    t.match(
      await eventually(() => scan({}, brief.key), isRefused),
      { status: 401, body: { code: 'INVALID_KEY' } },
      'after it, the key is not valid',
    );
    const slow = await mint({ per_minute: 1 });
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await scan({}, slow.key)).status);
    t.same(statuses.slice(0, 2), [200, 200], 'Limits 7: a key may have a bucket of its own');
    t.ok(statuses.includes(429), 'and no more than that passes');
    t.equal((await scan()).status, 200, "another key's bucket is not touched");
  });
}
