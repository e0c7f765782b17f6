import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { createConnection } from 'node:net';
import t from 'tap';
import { agentId, startTestGateway } from '../support/gateway.ts';

/** Asks with the path as it is written: `fetch` would resolve dot segments. */
async function rawStatus(controlUrl: string, target: string, method = 'GET'): Promise<number> {
  const { hostname, port } = new URL(controlUrl);
  const socket = createConnection({ host: hostname, port: Number(port) });
  socket.write(`${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  await once(socket, 'close');
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}

t.test('the console is served with nothing from elsewhere', async (t) => {
  const { controlUrl, dir } = await startTestGateway(t);
  const at = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, controlUrl), { redirect: 'manual', ...init });
  let page = await at('/console/');
  // Where the page is built first, the daemon tells to ask again.
  for (let i = 0; i < 60 && page.status === 503; i += 1) {
    t.match(await page.text(), /is being built/);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    page = await at('/console/');
  }
  t.equal(page.status, 200);
  const policy = page.headers.get('content-security-policy') ?? '';
  t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /);
  t.match(policy, /frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/);
  t.notMatch(policy, /unsafe|https?:|\*/);
  t.match(Object.fromEntries(page.headers), {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'content-encoding': 'gzip',
  });
  t.equal(page.headers.get('set-cookie'), null);

  const html = await page.text();
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
  t.ok(links.length >= 3, 'a script, a style, an icon');
  for (const link of links) {
    t.match(link, /^\.\//, 'relative, so that a prefix in front changes nothing');
    const asset = await at(new URL(link, new URL('/console/', controlUrl)).pathname);
    t.equal(asset.status, 200, link);
    t.match(asset.headers.get('content-security-policy'), policy);
    if (link.startsWith('./assets/')) t.match(asset.headers.get('cache-control'), /immutable/);
    const text = await asset.text();
    const foreign = [...text.matchAll(/(?:url\(|import\s*\(?|@import\s+)["']?(?:https?:)?\/\/[^\s"')]+/g)];
    t.same(foreign, [], 'no third party is asked');
  }

  const etag = page.headers.get('etag') ?? '';
  t.equal((await at('/console/', { headers: { 'if-none-match': etag } })).status, 304);
  t.equal((await at('/console/index.html')).status, 200);
  const plain = await at('/console/', { headers: { 'accept-encoding': 'identity' } });
  t.equal(plain.headers.get('content-encoding'), null);
  const head = await at('/console/', { method: 'HEAD' });
  t.match([head.status, await head.text()], [200, '']);
  const moved = await at('/console');
  t.match([moved.status, moved.headers.get('location')], [308, 'console/'], 'relative too');
  const ofBrowser = await at('/', { headers: { accept: 'text/html,*/*;q=0.8' } });
  t.match([ofBrowser.status, ofBrowser.headers.get('location')], [302, 'console/']);
  t.equal((await at('/')).status, 404, 'what is no browser is told that there is nothing');
  const posted = await at('/console/', { method: 'POST' });
  t.match([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);

  const strange = [
    '/console/../package.json',
    '/console/%2e%2e/package.json',
    '/console/..%2fpackage.json',
    '/console/assets/../../../package.json',
    '/console/assets/..%5c..%5cpackage.json',
    '/console//etc/passwd',
    '/console/assets/',
    '/console/assets',
    '/console/main.tsx',
    '/console/vite.config.ts',
    '/console/__proto__',
    '/console/constructor',
    '/console/index.html%00.js',
    `/console${dir}/postern.yaml`,
  ];
  for (const target of strange) t.equal(await rawStatus(controlUrl, target), 404, target);
  t.equal(await rawStatus(controlUrl, '/consoles'), 404, 'what only begins so is not the console');
});

t.test('what an inbound route brings is no page of the console, and sees no cookie of it', async (t) => {
  const seen: string[] = [];
  const ofOrigins = [
    'clear-site-data',
    'strict-transport-security',
    'nel',
    'report-to',
    'reporting-endpoints',
  ];
  const upstream = createServer((request, response) => {
    seen.push(String(request.headers.cookie));
    response.setHeader('content-security-policy', "script-src 'unsafe-inline'");
    for (const name of ofOrigins) response.setHeader(name, '"*"');
    response.end('<script>1</script>');
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  t.teardown(() => upstream.close());
  const { port } = upstream.address() as { port: number };
  const route = {
    prefix: 'page',
    upstream: `http://127.0.0.1:${port}`,
    agent: agentId,
    auth: { type: 'none' },
  };
  const gateway = await startTestGateway(t, {
    config: { upstream: { allow_private: ['127.0.0.0/8'], allowed_ports: [] }, inbound: [route] },
  });
  const ask = (url: string, headers: Record<string, string>) =>
    fetch(new URL('/inbound/page/x', url), { headers });
  const shown: Record<string, string>[] = [
    { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' },
    { 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-dest': 'script' },
    { 'sec-fetch-dest': 'serviceworker' },
    { 'upgrade-insecure-requests': '1' },
  ];
  for (const headers of shown) {
    const answer = await ask(gateway.controlUrl, headers);
    t.match([answer.status, await answer.text()], [403, /serves the console/], JSON.stringify(headers));
  }
  const cookie = 'a=1; postern_session_0a1b2c3d=acme.x.y; __Host-postern_session_00=z; b=2';
  for (const url of [gateway.controlUrl, gateway.proxyUrl])
    t.equal((await ask(url, { cookie, 'sec-fetch-dest': 'empty' })).status, 200);
  t.same(seen, ['a=1; b=2', 'a=1; b=2']);
  const policyOf = async (url: string) => (await ask(url, {})).headers.get('content-security-policy');
  t.match(await policyOf(gateway.controlUrl), /^sandbox;/, 'shown all the same, it has no origin');
  t.match((await ask(gateway.controlUrl, {})).headers.get('x-content-type-options'), 'nosniff');
  const keptOf = async (url: string) => {
    const { headers } = await ask(url, {});
    return ofOrigins.filter((name) => headers.has(name));
  };
  t.same(await keptOf(gateway.controlUrl), [], 'nor is anything kept for the origin');
  t.same(await keptOf(gateway.proxyUrl), ofOrigins);
  t.equal(
    await policyOf(gateway.proxyUrl),
    "script-src 'unsafe-inline'",
    'elsewhere it is that of the upstream',
  );
});

t.test('behind a proxy with a prefix, links lead below it and people sign in', async (t) => {
  const gateway = await startTestGateway(t);
  const { hostname, port } = new URL(gateway.controlUrl);
  // As nginx does with `location /gate/ { proxy_pass http://…/; }`: Host becomes that of the daemon.
  const front = createServer((request, response) => {
    const path = (request.url ?? '').replace(/^\/gate/, '');
    const headers = {
      ...request.headers,
      host: `${hostname}:${port}`,
      'x-forwarded-host': request.headers.host,
    };
    const passed = send({ host: hostname, port, path, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  t.teardown(() => {
    front.closeAllConnections();
    front.close();
  });
  const origin = `http://127.0.0.1:${(front.address() as { port: number }).port}`;
  let page = await fetch(`${origin}/gate/console`);
  for (let i = 0; i < 60 && page.status === 503; i += 1) {
    await page.text();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    page = await fetch(`${origin}/gate/console`);
  }
  t.match([page.status, page.url], [200, `${origin}/gate/console/`]);
  const links = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, it = '']) => it);
  for (const link of links) t.equal((await fetch(new URL(link, page.url))).status, 200, link);

  const signIn = (from: string) =>
    fetch(new URL('../v1/console/sessions', page.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: from },
      body: JSON.stringify({ secret: gateway.key }),
    });
  t.equal((await signIn('http://127.0.0.1:1')).status, 403, 'a page of another port');
  const signed = await signIn(origin);
  t.equal(signed.status, 201);
  const cookie = (signed.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const current = await fetch(new URL('../v1/console/sessions/current', page.url), { headers: { cookie } });
  t.equal(current.status, 200);
});
