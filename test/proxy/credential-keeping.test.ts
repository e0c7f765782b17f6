import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startGateway } from '../../src/daemon/gateway.ts';
import { run, send } from '../support/clients.ts';
import { apiHost, type CredentialLab, startCredentialLab } from '../support/credential-lab.ts';
import { agentId, apiClient } from '../support/gateway.ts';
import { until } from '../support/redis.ts';

/* What is kept of credentials: how often they were used, what was done to them, and under which key they lie. */

const newSecret = (): string => `s${randomBytes(20).toString('hex')}`;
const bin = join(import.meta.dirname, '../../src/cli/main.ts');
const script = `import(${JSON.stringify(bin)}).then(({ main }) => main(['node', 'postern', ...process.argv.slice(1)]))`;

const postern = ({ gateway }: CredentialLab, ...args: string[]) =>
  run(process.execPath, ['-e', script, '--', 'credential', ...args], {
    POSTERN_URL: gateway.controlUrl,
    SERVICE_API_KEYS_ADMIN_SECRET: gateway.adminSecret,
  });

t.test('each credential shows how often it was used and when last, those of the file as well', async (t) => {
  const lab = await startCredentialLab(t, {
    credentials: [
      { name: 'of-file', type: 'bearer', value: newSecret(), hosts: [apiHost], paths: ['/file/**'] },
      { name: 'of-vault', type: 'bearer', vault: true, hosts: [apiHost] },
      { name: 'unused', type: 'bearer', value: newSecret() },
    ],
  });
  const secret = { value: newSecret() };
  await lab.admin('PUT', '/v1/credentials/of-vault', { type: 'bearer', secret });
  const socket = await lab.tunnel();
  const headers = { host: `${apiHost}:${lab.upstream.port}` };
  for (const path of ['/file/a', '/x', '/y', '/z'])
    t.equal((await send(socket, { path, headers })).status, 200);
  const list = async () => (await lab.admin('GET', '/v1/credentials')).body.items;
  await until('what was used is counted', async () => (await list())[1].uses === 3);
  const items = await list();
  t.match(items, [
    { name: 'of-file', source: 'file', uses: 1, changed_at: null, last_used_at: /^\d{4}-/ },
    { name: 'of-vault', source: 'vault', uses: 3, changed_at: /^\d{4}-/, last_used_at: /^\d{4}-/ },
    { name: 'unused', source: 'file', uses: 0, last_used_at: null },
  ]);
  t.notMatch(JSON.stringify(items), secret.value);
  const listed = await postern(lab, 'list');
  t.match(listed.stdout, /of-vault +bearer +acme +vault +3 +\d{4}-/);
  const traces = await lab.admin('GET', '/v1/traces');
  t.same(
    traces.body.items.map((it: { credential?: string }) => it.credential).sort(),
    ['of-file', 'of-vault', 'of-vault', 'of-vault'],
    'and each trace names it',
  );
});

t.test('setting, rotating and revoking are audited, without the secret', async (t) => {
  const lab = await startCredentialLab(t, { credentials: [] });
  const secret = newSecret();
  const file = join(lab.gateway.dir, 'secret');
  writeFileSync(file, secret);
  for (const args of [
    ['set', 'bot', '--file', file],
    ['rotate', 'bot', '--file', file],
    ['revoke', 'bot'],
  ])
    t.match(await postern(lab, ...args), { code: 0 }, args.join(' '));
  const { body } = await lab.admin('GET', '/v1/audit');
  const kinds = body.items
    .map((it: { kind: string }) => it.kind)
    .filter((it: string) => it.startsWith('cred'));
  t.same(kinds.sort(), ['credential.revoked', 'credential.rotated', 'credential.set']);
  t.notMatch(JSON.stringify(body), secret);
});

t.test('the command line takes both types with fields, and says what is missing', async (t) => {
  const lab = await startCredentialLab(t, { credentials: [] });
  const file = join(lab.gateway.dir, 'secret');
  const set = (type: string, fields: object) => {
    writeFileSync(file, JSON.stringify(fields));
    return postern(lab, 'set', 'bot', '--type', type, '--fields', '--file', file);
  };
  const keys = { access_key_id: 'AKIDOFTHETESTS000001', secret_access_key: newSecret() };
  t.match(await set('aws_sigv4', keys), { code: 0 });
  t.match(await set('oauth2_client_credentials', { client_secret: newSecret() }), { code: 0 });
  const refused = await set('aws_sigv4', { secret_access_key: keys.secret_access_key });
  t.match(refused, { code: 2, stderr: /access_key_id/ });
  t.notMatch(refused.stderr, keys.secret_access_key);
  writeFileSync(file, keys.secret_access_key);
  const bare = await postern(lab, 'set', 'bot', '--type', 'aws_sigv4', '--file', file);
  t.match(bare, { code: 2, stderr: /--fields/ });
  writeFileSync(file, newSecret());
  t.match(await postern(lab, 'set', 'bot', '--type', 'oauth2_client_credentials', '--file', file), {
    code: 0,
  });
});

/** The same gateway again, with another file of keys. */
async function restart(t: Test, lab: CredentialLab, keys: readonly string[]) {
  await lab.gateway.stop();
  writeFileSync(join(lab.gateway.dir, 'data', 'vault-key'), `${keys.join('\n')}\n`, { mode: 0o600 });
  const gateway = await startGateway(lab.gateway.configFile, {});
  t.teardown(() => gateway.stop(1000));
  const api = apiClient(gateway.controlUrl);
  const { adminSecret } = lab.gateway;
  return {
    stop: () => gateway.stop(1000),
    ask: (method: string, path: string, body?: unknown) => api(method, path, body, `Bearer ${adminSecret}`),
    next: (more: readonly string[]) =>
      restart(t, { ...lab, gateway: { ...lab.gateway, stop: () => gateway.stop(1000) } }, more),
  };
}

t.test('tokens of inbound routes get the new key with the credentials', async (t) => {
  const lab = await startCredentialLab(t, { credentials: [] });
  const auth = { type: 'token', header: 'X-Hook', value: newSecret() };
  const route = { upstream: `https://api.test.example:${lab.upstream.port}`, agent: agentId, auth };
  t.equal((await lab.admin('POST', '/v1/inbound-routes', { prefix: 'hook', ...route })).status, 201);
  t.equal(
    (await lab.admin('POST', '/v1/inbound-routes', { prefix: 'bare', ...route, auth: 'key' })).status,
    201,
  );
  const oldKey = readFileSync(join(lab.gateway.dir, 'data', 'vault-key'), 'utf8').trim();
  const newKey = randomBytes(32).toString('hex');
  const both = await restart(t, lab, [newKey, oldKey]);
  const rekey = async (at: Awaited<ReturnType<typeof restart>>) =>
    (await at.ask('POST', '/v1/credentials/rekey', {})).body;
  t.match(await rekey(both), { rekeyed: 1, unchanged: 0, unreadable: [] });
  t.match(await rekey(both), { rekeyed: 0, unchanged: 1 });
  const { body: audit } = await both.ask('GET', '/v1/audit?tenant_id=acme');
  t.match(
    audit.items.filter((it: { kind: string }) => it.kind === 'route.rekeyed'),
    [{ subject: 'hook' }],
  );
  const alone = await both.next([newKey]);
  const { body: shown } = await alone.ask('GET', '/v1/inbound-routes/hook?tenant_id=acme');
  t.same(shown.warnings, [], 'it opens with the new key alone');
  const wrong = await alone.next([oldKey]);
  t.match(await rekey(wrong), { rekeyed: 0, unreadable: [{ tenant_id: 'acme', name: 'inbound/hook' }] });
});

t.test('another key of the vault takes the place of the first, at any pace', async (t) => {
  const lab = await startCredentialLab(t, { credentials: [] });
  const names = ['one', 'two', 'three'];
  for (const name of names) {
    const secret = { value: newSecret() };
    t.equal((await lab.admin('PUT', `/v1/credentials/${name}`, { type: 'bearer', secret })).status, 200);
  }
  t.match((await lab.admin('POST', '/v1/credentials/rekey', {})).body, { rekeyed: 0, unchanged: 3 });
  const oldKey = readFileSync(join(lab.gateway.dir, 'data', 'vault-key'), 'utf8').trim();
  const newKey = randomBytes(32).toString('hex');

  const both = await restart(t, lab, [newKey, oldKey]);
  const put = { tenant_id: 'acme', type: 'bearer', secret: { value: newSecret() } };
  t.equal((await both.ask('PUT', '/v1/credentials/one', put)).status, 200);
  t.match((await both.ask('POST', '/v1/credentials/rekey', {})).body, {
    rekeyed: 2,
    unchanged: 1,
    unreadable: [],
  });
  t.match((await both.ask('POST', '/v1/credentials/rekey', {})).body, { rekeyed: 0, unchanged: 3 });
  const { body } = await both.ask('GET', '/v1/audit?tenant_id=acme');
  t.equal(body.items.filter((it: { kind: string }) => it.kind === 'credential.rekeyed').length, 2);

  const alone = await both.next([newKey]);
  t.match((await alone.ask('POST', '/v1/credentials/rekey', {})).body, { unchanged: 3, unreadable: [] });

  const wrong = await alone.next([oldKey]);
  t.match((await wrong.ask('POST', '/v1/credentials/rekey', {})).body, {
    rekeyed: 0,
    unreadable: [{ tenant_id: 'acme' }, { tenant_id: 'acme' }, { tenant_id: 'acme' }],
  });
});
