import { once } from 'node:events';
import { chownSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { clientFor } from '../../../src/cli/connection/client.ts';
import { readOwn } from '../../../src/util/files/own-file.ts';
import { run } from '../../support/clients.ts';
import { posternCommand } from '../../support/daemon.ts';
import { postern } from '../support.ts';

async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A URL where a server has been. */
async function nobody(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

/** Not a key, and long enough to be told from everything else. */
const secret = `secret-${'x'.repeat(20)}`;
const usage = (env: Record<string, string>) => postern(['usage'], { env: { POSTERN_KEY: secret, ...env } });

t.test('what cannot be asked is said, and no secret with it', async (t) => {
  const url = await serve(t, (_request, response) => response.end('<html>hello</html>'));
  const cases = [
    { name: 'nobody is there', env: { POSTERN_URL: await nobody() }, says: /ECONNREFUSED.*daemon run/ },
    { name: 'it is another server', env: { POSTERN_URL: url }, says: /not as the control plane/ },
    { name: 'there is no key', env: { POSTERN_URL: url, POSTERN_KEY: '' }, says: /set POSTERN_KEY/ },
    {
      name: 'a key that is no header field',
      env: { POSTERN_URL: url, POSTERN_KEY: `${secret}\nx` },
      says: /has characters that no secret has/,
    },
    {
      name: 'a URL with a password',
      env: { POSTERN_URL: url.replace('://', `://me:${secret}@`) },
      says: /without user and password/,
    },
    { name: 'a URL that is none', env: { POSTERN_URL: secret }, says: /must be http/ },
  ];
  for (const { name, env, says } of cases) {
    const ran = await usage(env);
    t.equal(ran.code, 1, name);
    t.match(ran.stderr, says, name);
    t.notMatch(ran.stdout + ran.stderr, secret, `${name}: the secret is not said`);
  }
});

t.test('a refusal in another form is told by its status', async (t) => {
  for (const answer of ['null', '"no"', '{"detail":1,"code":{},"errors":[null,{"path":[]}]}']) {
    const url = await serve(t, (_request, response) => response.writeHead(418).end(answer));
    const ran = await usage({ POSTERN_URL: url });
    t.equal(ran.code, 1, answer);
    t.match(ran.stderr, /^postern: The daemon answered 418\./, answer);
  }
});

t.test('a redirect is not followed: the secret goes nowhere else', async (t) => {
  const asked: string[] = [];
  const elsewhere = await serve(t, (request, response) => {
    asked.push(request.url ?? '');
    response.end('{}');
  });
  const url = await serve(t, (_request, response) => response.writeHead(307, { location: elsewhere }).end());
  const ran = await usage({ POSTERN_URL: url });
  t.equal(ran.code, 1);
  t.same(asked, []);
});

t.test('an answer without an end is given up', async (t) => {
  const chunk = Buffer.alloc(1 << 20, ' ');
  const { promise: givenUp, resolve } = Promise.withResolvers<void>();
  const url = await serve(t, (_request, response) => {
    const more = (): void => {
      while (response.write(chunk));
    };
    response.on('drain', more);
    response.on('close', resolve);
    more();
  });
  const ran = await usage({ POSTERN_URL: url });
  t.equal(ran.code, 1);
  t.match(ran.stderr, /too large/);
  await t.resolves(givenUp);
});

t.test('a problem is shown as a sentence with all its mistakes, whatever is in it', async (t) => {
  const errors = [
    { path: 'a', message: 'must be b' },
    { path: 'c\x1b]0;x\x07', message: 'is\x1b[2Jd' },
  ];
  const problem = { detail: 'It is wrong.\x1b[31m', code: 'VALIDATION_FAILED', errors };
  const url = await serve(t, (_request, response) => response.writeHead(400).end(JSON.stringify(problem)));
  const ran = await usage({ POSTERN_URL: url });
  t.equal(ran.code, 2);
  t.equal(ran.stderr, 'error: a must be b\nerror: c\\u{1b}]0;x\\u{7} is\\u{1b}[2Jd\n');
  const { errors: _, ...bare } = problem;
  const plain = await serve(t, (_request, response) => response.writeHead(400).end(JSON.stringify(bare)));
  const said = await usage({ POSTERN_URL: plain });
  t.equal(said.code, 2);
  t.equal(said.stderr, 'postern: It is wrong.\\u{1b}[31m (VALIDATION_FAILED)\n');
});

t.test('the admin secret goes before the key, and a call is always that of the key', async (t) => {
  const seen: (string | undefined)[] = [];
  const url = await serve(t, (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.end('{"decision":"ALLOW"}');
  });
  const env = { POSTERN_URL: url, POSTERN_KEY: 'the-key', SERVICE_API_KEYS_ADMIN_SECRET: 'the-secret' };
  await postern(['usage', '--tenant', 'a&b'], { env });
  await postern(['explain', 'GET', 'https://x.test/'], { env });
  await postern(['--url', url, 'usage'], { env: { ...env, POSTERN_URL: 'http://127.0.0.1:1' } });
  t.same(seen, [
    'GET /v1/usage?tenant_id=a%26b Bearer the-secret',
    'POST /v1/explain Bearer the-key',
    'GET /v1/usage Bearer the-secret',
  ]);
});

t.test('a name leads to no other place of the API', async (t) => {
  const seen: (string | undefined)[] = [];
  const url = await serve(t, (request, response) => {
    seen.push(request.url);
    response.end('{}');
  });
  const env = { POSTERN_URL: url, POSTERN_KEY: secret };
  for (const name of ['..', '.', '', '../agents/x?y#z']) {
    const ran = await postern(['key', 'revoke', name], { env });
    t.equal(ran.code, 1);
  }
  t.same(seen, []);
  await postern(['policy', 'archive', '../agents/x?y#z'], { env });
  t.same(seen, ['/v1/policies/by-name/..%2Fagents%2Fx%3Fy%23z']);
});

t.test('an export that is broken off fails, with what had come before', async (t) => {
  const url = await serve(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    response.write('{"trace_id":"first"}\n');
    setTimeout(() => response.destroy(), 100);
  });
  const ran = await postern(['trace', 'export'], { env: { POSTERN_KEY: secret, POSTERN_URL: url } });
  t.equal(ran.code, 1);
  t.equal(ran.stdout, '{"trace_id":"first"}\n');
  t.match(ran.stderr, /has not answered to the end/);
  const refusing = await serve(t, (_request, response) =>
    response.writeHead(429).end('{"detail":"Too many.","code":"RATE_LIMITED"}'),
  );
  const refused = await postern(['trace', 'export'], { env: { POSTERN_KEY: secret, POSTERN_URL: refusing } });
  t.match(refused, { code: 1, stdout: '', stderr: /Too many\. \(RATE_LIMITED\)/ });
});

t.test('no command goes through the proxy that its shell exports for agents', async (t) => {
  const proxied: (string | undefined)[] = [];
  const proxy = createServer((request, response) => {
    proxied.push(request.url);
    response.end('{}');
  });
  proxy.on('connect', (request, socket) => {
    proxied.push(request.url);
    socket.destroy();
  });
  proxy.listen(0, '127.0.0.1');
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  await once(proxy, 'listening');
  const through = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const asked: (string | undefined)[] = [];
  const url = await serve(t, (request, response) => {
    asked.push(request.url);
    response.end('{"items":[],"next_cursor":null}');
  });
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];
  const env = {
    ...Object.fromEntries(names.map((name) => [name, through])),
    NODE_USE_ENV_PROXY: '1',
    NO_PROXY: '',
    no_proxy: '',
    POSTERN_URL: url,
    POSTERN_KEY: secret,
    POSTERN_CA: '/ca.pem',
  };
  for (const args of [['usage'], ['trace', 'export'], ['run', '--', 'true']])
    t.equal((await postern(args, { env })).code, 0, args.join(' '));
  // Nobody is there, and nobody is asked instead.
  t.equal((await postern(['usage'], { env: { ...env, POSTERN_URL: 'https://127.0.0.1:1' } })).code, 1);
  t.same(proxied, [], 'nothing came to the proxy');
  const asks = [
    '/v1/usage',
    '/v1/traces/export?format=ndjson',
    '/healthz',
    '/v1/feeds',
    '/v1/keys/ephemeral',
  ];
  t.same(asked, asks);
});

t.test('the beginning of an id chooses nothing from a list that has no end', async (t) => {
  const asked: (string | undefined)[] = [];
  const keyId = 'abcd1234-7a54-4b0e-9a55-0a2f6f0f7c11';
  const url = await serve(t, (request, response) => {
    asked.push(request.method);
    response.end(JSON.stringify({ items: [{ key_id: keyId }], next_cursor: 'more' }));
  });
  const env = { POSTERN_URL: url, SERVICE_API_KEYS_ADMIN_SECRET: 'the-secret' };
  const ran = await postern(['key', 'revoke', 'abcd'], { env });
  t.equal(ran.code, 1);
  t.match(ran.stderr, /too many keys .* Type all of it/);
  t.same(new Set(asked), new Set(['GET']), 'nothing is revoked');
  t.equal(asked.length, 20);
});

t.test('what another user has put into a folder leads no secret of the shell anywhere', async (t) => {
  const seen: unknown[] = [];
  const url = await serve(t, ({ headers }, response) => {
    seen.push(headers.authorization);
    response.end('{"items":[],"next_cursor":null}');
  });
  const bound = JSON.stringify({ control: [new URL(url).host], proxy: [], pid: process.pid });
  const folder = t.testdir({ data: { 'listening.json': bound } });
  const file = join(folder, 'data/listening.json');
  const unset = { POSTERN_URL: '', SERVICE_API_KEYS_ADMIN_SECRET: '' };
  const asked = () =>
    run('env', ['-C', folder, ...posternCommand(['feed', 'list'])], { ...unset, POSTERN_KEY: secret });
  await asked();
  t.same(seen, [`Bearer ${secret}`], 'the folder is the own one');

  // Files of root are believed, and only root can give one away.
  if (statSync(file).uid === 0) chownSync(file, 4242, 4242);
  t.throws(() => readOwn(file, 4243), /belongs to another user/);
  t.equal(readOwn(file, statSync(file).uid), bound);
  if (process.getuid?.() === statSync(file).uid) return;
  t.match(await asked(), { code: 1, stderr: /listening\.json belongs to another user/ });
  t.equal(seen.length, 1);
});

t.test('the tenant that a command names itself counts before --tenant', async (t) => {
  const asked: string[] = [];
  const url = await serve(t, (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end('{}');
  });
  await clientFor(new URL(url), secret).send('DELETE', '/v1/keys/1', undefined, { tenant_id: 'own' });
  await clientFor(new URL(url), secret, { tenant: 'named' }).get('/v1/usage');
  t.strictSame(asked, ['DELETE /v1/keys/1?tenant_id=own', 'GET /v1/usage?tenant_id=named']);
});
