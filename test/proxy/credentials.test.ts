import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type http from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config/load.ts';
import { openVault } from '../../src/credentials/credentials.ts';
import { basic, openSecureTunnel, type Reply, run, send } from '../support/clients.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type TestUpstream, type UpstreamHandler } from '../support/upstream.ts';

const label = '[REDACTED:credential]';
const newSecret = (): string => `s${randomBytes(20).toString('hex')}`;

interface Lab {
  readonly gateway: TestGateway;
  readonly upstream: TestUpstream;
  /** A call by the forward proxy, in a tunnel of its own. */
  call(
    path: string,
    options?: { host?: string; headers?: http.OutgoingHttpHeaders; body?: string; key?: string },
  ): Promise<Reply>;
}

async function startLab(t: Test, credentials: readonly object[], handler?: UpstreamHandler): Promise<Lab> {
  const upstream = await startUpstream(t, handler);
  const config = { credentials: credentials.map((it) => ({ tenant: 'acme', ...it })) };
  const gateway = await startTestGateway(t, { upstream, config });
  const ca = readFileSync(gateway.caFile, 'utf8');
  return {
    gateway,
    upstream,
    async call(path, { host = 'api.test.example', headers = {}, body, key = gateway.key } = {}) {
      const authority = `${host}:${upstream.port}`;
      const socket = await openSecureTunnel({
        proxyUrl: gateway.proxyUrl,
        authorization: basic(key),
        authority,
        ca,
      });
      t.teardown(() => void socket.destroy());
      return send(socket, {
        path,
        headers: { host: authority, ...headers },
        ...(body === undefined ? {} : { method: 'POST', body }),
      });
    },
  };
}

const hosts = ['api.test.example'];

t.test('sends each type in its own place, instead of what the agent sends there', async (t) => {
  const [a, b, c, d] = [newSecret(), newSecret(), newSecret(), newSecret()];
  const lab = await startLab(t, [
    { name: 'bearer', type: 'bearer', value: a, hosts: ['a.test.example'] },
    { name: 'basic', type: 'basic', username: 'bot', password: b, hosts: ['b.test.example'] },
    {
      name: 'headers',
      type: 'headers',
      values: { 'X-Api-Key': c, 'X-Org': 'acme' },
      hosts: ['c.test.example'],
    },
    { name: 'query', type: 'query', parameter: 'api_key', value: `${d}&=`, hosts: ['d.test.example'] },
  ]);
  const own = {
    authorization: 'Bearer of-the-agent',
    'X-Api-Key': 'own',
    X_Api_Key: 'own',
    range: 'bytes=0-3',
  };
  const sent = async (host: string, path = '/x'): Promise<http.IncomingHttpHeaders & { url: string }> => {
    t.equal((await lab.call(path, { host, headers: own })).status, 200);
    const got = lab.upstream.requests.at(-1);
    return { ...got?.headers, url: got?.url ?? '' };
  };
  t.equal((await sent('a.test.example')).authorization, `Bearer ${a}`);
  t.equal((await sent('a.test.example')).range, undefined, 'nobody gets a secret in pieces of his choice');
  t.equal(
    (await sent('b.test.example')).authorization,
    `Basic ${Buffer.from(`bot:${b}`).toString('base64')}`,
  );
  const byHeaders = await sent('c.test.example');
  t.match(byHeaders, { 'x-api-key': c, 'x-org': 'acme', authorization: undefined, x_api_key: undefined });
  const { url, authorization } = await sent(
    'd.test.example',
    '/x?a=1&api_key=own&%61pi_key=own&api_key[]=own&b;api_key=own&z' +
      // Names that ASP.NET and PHP take for the same.
      '&API_Key=own&api.key=own&api+key=own&api%5bkey=own&api_key%00x=own&api_key_id=7',
  );
  t.equal(url, `/x?api_key=${d}%26%3D&a=1&z&api_key_id=7`);
  t.equal(authorization, undefined);
  t.equal((await sent('e.test.example')).authorization, 'Bearer of-the-agent', 'no other host gets one');
});

t.test('takes the first in the file whose host, path and agent are those of the call', async (t) => {
  const [first, second, third] = [newSecret(), newSecret(), newSecret()];
  const lab = await startLab(t, [
    { name: 'acme', type: 'bearer', value: first, hosts, paths: ['/repos/acme/**', '/orgs/*/members'] },
    { name: 'foreign', type: 'bearer', value: second, hosts, agents: ['somebody-else'] },
    { name: 'all', type: 'bearer', value: third, hosts, agents: ['support-*'] },
  ]);
  const cases: Record<string, string> = {
    '/repos/acme/app/issues?x=/repos/other': first,
    '/repos/acme': first,
    '/orgs/x/members': first,
    '/orgs/x/y/members': third,
    '/repos/acmeother/app': third,
    '/%72epos/acme/app': first,
  };
  for (const [path, secret] of Object.entries(cases)) {
    t.equal((await lab.call(path)).status, 200, path);
    t.equal(lab.upstream.requests.at(-1)?.headers.authorization, `Bearer ${secret}`, path);
  }
  const before = lab.upstream.requests.length;
  for (const path of ['/repos/acme/..%2f..%2fother', '/x/..%2frepos/acme/app', '//repos/acme/app']) {
    const { status, body } = await lab.call(path);
    t.equal(status, 502, `${path} may be read as a path with another credential`);
    t.equal(JSON.parse(body.toString()).code, 'CREDENTIAL_UNAVAILABLE');
  }
  t.equal(lab.upstream.requests.length, before);
});

t.test('sends no credential by a path that a header leads away from', async (t) => {
  const secret = newSecret();
  const { call, upstream } = await startLab(t, [
    { name: 'narrow', type: 'bearer', value: secret, hosts, paths: ['/open/**'] },
  ]);
  t.equal((await call('/open/x', { headers: { 'X-Original-URL': '/open/y' } })).status, 200);
  t.equal(upstream.requests.at(-1)?.headers.authorization, `Bearer ${secret}`);
  const elsewhere = [
    { 'X-Original-URL': '/admin' },
    { 'X-Forwarded-Prefix': '/admin' },
    { x_rewrite_url: '/' },
    { 'X-Script-Name': '/%6fpen' },
    { 'X~Original~URL': '/admin' },
  ];
  for (const headers of elsewhere) {
    const { status, body } = await call('/open/x', { headers });
    t.match({ status, body: body.toString() }, { status: 502, body: /CREDENTIAL_UNAVAILABLE/ });
  }
  for (const headers of [{ 'X-Script-Name': '/a,b' }, { 'X-Original-URL': '/open/../open/x' }])
    t.equal((await call('/open/a,b/x', { headers })).status, 400);
  t.equal(upstream.requests.length, 1);
});

t.test('never sends a call without its credential, nor a credential over plain http', async (t) => {
  const lab = await startLab(t, [{ name: 'gone', type: 'bearer', vault: true, hosts }]);
  const { status, headers, body } = await lab.call('/x', { headers: { authorization: 'Bearer own' } });
  t.equal(status, 502);
  t.match(JSON.parse(body.toString()), {
    code: 'CREDENTIAL_UNAVAILABLE',
    trace_id: headers['x-service-trace-id'],
  });
  t.equal(lab.upstream.connections(), 0);

  const plain = await startUpstream(t, undefined, { tls: false });
  const gateway = await startTestGateway(t, {
    upstream: plain,
    config: { credentials: [{ name: 'bot', tenant: 'acme', type: 'bearer', value: newSecret(), hosts }] },
  });
  const viaCurl = await run('curl', [
    '-s',
    '-x',
    gateway.proxyWithKey,
    `http://api.test.example:${plain.port}/x`,
  ]);
  t.match(viaCurl.stdout, 'CREDENTIAL_UNAVAILABLE');
  t.equal(plain.connections(), 0);
});

t.test(
  'opens what is in the vault, until it is taken out, and takes what is put in from the next call on',
  async (t) => {
    const [first, second] = [newSecret(), newSecret()];
    const upstream = await startUpstream(t);
    const gateway = await startTestGateway(t, {
      upstream,
      config: { credentials: [{ name: 'bot', tenant: 'acme', type: 'bearer', vault: true, hosts }] },
    });
    const ca = readFileSync(gateway.caFile, 'utf8');
    const authority = `api.test.example:${upstream.port}`;
    const status = async (): Promise<number> => {
      const socket = await openSecureTunnel({
        proxyUrl: gateway.proxyUrl,
        authorization: basic(gateway.key),
        authority,
        ca,
      });
      t.teardown(() => void socket.destroy());
      return (await send(socket, { path: '/x', headers: { host: authority } })).status;
    };
    const admin = `Bearer ${gateway.adminSecret}`;
    const put = (value: string) =>
      gateway.api(
        'PUT',
        '/v1/credentials/bot',
        { tenant_id: 'acme', type: 'bearer', secret: { value } },
        admin,
      );
    t.equal(await status(), 502);
    for (const secret of [first, second]) {
      const answer = await put(secret);
      t.match(answer, { status: 200, body: { name: 'bot', type: 'bearer', tenant_id: 'acme' } });
      t.notMatch(JSON.stringify(answer.body), secret, 'what was written is not read back');
      t.equal(await status(), 200);
      t.equal(upstream.requests.at(-1)?.headers.authorization, `Bearer ${secret}`);
    }
    const listed = await gateway.api('GET', '/v1/credentials?tenant_id=acme', undefined, admin);
    t.match(listed.body.items, [{ name: 'bot', type: 'bearer' }]);
    const audit = await gateway.api('GET', '/v1/audit?tenant_id=acme', undefined, admin);
    t.ok(
      audit.body.items.some((it: { kind: string }) => it.kind === 'credential.set'),
      'the audit log has it',
    );
    t.notMatch(JSON.stringify([listed.body, audit.body]), new RegExp(`${first}|${second}`));
    t.equal(
      (await gateway.api('DELETE', '/v1/credentials/bot?tenant_id=acme', undefined, admin)).status,
      200,
    );
    t.equal(await status(), 502);

    const refused = [
      { path: '/v1/credentials/bot', body: { type: 'bearer', secret: { value: 'a\nb' } }, status: 400 },
      {
        path: '/v1/credentials/bot',
        body: { type: 'bearer', secret: { username: 'a', password: 'b' } },
        status: 400,
      },
      {
        path: '/v1/credentials/bot',
        body: { type: 'headers', secret: { values: { Host: 'x' } } },
        status: 400,
      },
      { path: '/v1/credentials/bot', body: { type: 'aws_sigv4', secret: { value: 'x' } }, status: 400 },
      { path: '/v1/credentials/..%2f', body: { type: 'bearer', secret: { value: 'x' } }, status: 400 },
    ];
    for (const { path, body, status } of refused)
      t.equal(
        (await gateway.api('PUT', path, { tenant_id: 'acme', ...body }, admin)).status,
        status,
        JSON.stringify(body),
      );
    const byAgent = await gateway.api('PUT', '/v1/credentials/bot', {
      type: 'bearer',
      secret: { value: 'x' },
    });
    t.equal(byAgent.body.code, 'FORBIDDEN', 'a key needs the permission');
  },
);

t.test('shows an agent nothing of what an upstream echoes, and keeps a stream streaming', async (t) => {
  const secret = newSecret();
  const gate = Promise.withResolvers<void>();
  const lab = await startLab(
    t,
    [{ name: 'bot', type: 'bearer', value: secret, hosts }],
    async (request, response) => {
      const echo = request.headers.authorization ?? '';
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`data: ${echo.slice(0, 12)}`);
      response.write(`${echo.slice(12)}\n\n`);
      await gate.promise;
      response.end('data: done\n\n');
    },
  );
  const authority = `api.test.example:${lab.upstream.port}`;
  const ca = readFileSync(lab.gateway.caFile, 'utf8');
  const socket = await openSecureTunnel({
    proxyUrl: lab.gateway.proxyUrl,
    authorization: basic(lab.gateway.key),
    authority,
    ca,
  });
  t.teardown(() => void socket.destroy());
  socket.write(`GET /events HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`);
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    text += chunk;
  });
  while (!text.includes(`${label}\n\n`)) await once(socket, 'data');
  t.notMatch(text, 'done', 'the first event is here before the answer ends');
  gate.resolve();
  await once(socket, 'close');
  t.match(text, 'data: done\n\n');
  t.notMatch(text, secret);
});

t.test('keeps the key of the vault beside the state, for its owner alone', async (t) => {
  const secret = newSecret();
  const { gateway } = await startLab(t, [{ name: 'bot', type: 'bearer', value: secret, hosts }]);
  const file = join(gateway.dir, 'data', 'vault-key');
  t.match(readFileSync(file, 'utf8'), /^[0-9a-f]{64}\n$/);
  const config = loadConfig(gateway.configFile, {});
  const place = { tenantId: 'acme', name: 'bot', type: 'bearer' };
  t.equal(
    openVault(config).open(place, openVault(config).seal(place, 'x')),
    'x',
    'it is the same at the next start',
  );
  const { state } = config;
  t.throws(
    () => openVault({ state, vault: { key: null, keyFile: join(gateway.dir, 'none') } }),
    /is not there/,
  );
  t.throws(() => openVault({ state, vault: { key: 'short', keyFile: null } }), /32 bytes/);
});

t.test('the command line sets, rotates, lists and revokes, and never shows a secret', async (t) => {
  const [first, second] = [newSecret(), newSecret()];
  const lab = await startLab(t, [{ name: 'bot', type: 'bearer', vault: true, hosts }]);
  const bin = join(import.meta.dirname, '../../src/cli/main.ts');
  const file = join(lab.gateway.dir, 'secret');
  const env = { POSTERN_URL: lab.gateway.controlUrl, SERVICE_API_KEYS_ADMIN_SECRET: lab.gateway.adminSecret };
  const script = `import(${JSON.stringify(bin)}).then(({ main }) => main(['node', 'postern', ...process.argv.slice(1)]))`;
  const postern = (...args: string[]) =>
    run(process.execPath, ['-e', script, '--', 'credential', ...args], env);
  const secretFile = (secret: string): string[] => {
    writeFileSync(file, `${secret}\n`);
    return ['--file', file];
  };
  t.match(await postern('rotate', 'bot', ...secretFile(first)), { code: 1, stderr: /no credential bot/ });
  for (const [command, secret] of [
    ['set', first],
    ['rotate', second],
  ] as const) {
    const ran = await postern(command, 'bot', ...secretFile(secret));
    t.match(ran, { code: 0, stderr: '' });
    t.equal((await lab.call('/x')).status, 200);
    t.equal(lab.upstream.requests.at(-1)?.headers.authorization, `Bearer ${secret}`);
  }
  const listed = await postern('list', '--json');
  t.match(JSON.parse(listed.stdout), { items: [{ name: 'bot', type: 'bearer', tenant_id: 'acme' }] });
  t.notMatch(listed.stdout, second);
  t.match(await postern('revoke', 'bot'), { code: 0 });
  t.equal((await lab.call('/x')).status, 502);
  t.match(await postern('revoke', 'bot'), { code: 1, stderr: /no such credential/ });
  t.match(await postern('set', 'bot', '--type', 'nonsense'), { code: 2 });
});
