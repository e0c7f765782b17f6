import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import t, { type Test } from 'tap';
import { type Dispatcher, ProxyAgent, request } from 'undici';
import { basic, openSecureTunnel, openTunnel, run, send } from '../support/clients.ts';
import { denyDeletes, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { needProgram } from '../support/programs.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream, type TestUpstream } from '../support/upstream.ts';

const holdMerges = {
  rule_id: 'hold-merges',
  priority: 2,
  match: { methods: ['PUT'] },
  condition: {},
  action: 'REQUIRE_APPROVAL',
};

interface Lab {
  readonly gateway: TestGateway;
  readonly upstream: TestUpstream;
  readonly ca: string;
  readonly authority: string;
  tunnel(): ReturnType<typeof openSecureTunnel>;
}

async function startLab(t: Test, handler?: Parameters<typeof startUpstream>[1]): Promise<Lab> {
  const upstream = await startUpstream(t, handler);
  // How fast a busy machine reads a body is not what is tested here.
  const config = { limits: { scan_timeout: '30s' } };
  const gateway = await startTestGateway(t, { upstream, config });
  const applied = await gateway.apply([denyDeletes, holdMerges]);
  t.equal(applied.status, 200, 'the policy is applied');
  const ca = readFileSync(gateway.caFile, 'utf8');
  const authority = `api.test.example:${upstream.port}`;
  const tunnel = (): ReturnType<typeof openSecureTunnel> =>
    openSecureTunnel({ proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca });
  return { gateway, upstream, ca, authority, tunnel };
}

/** The three ways of a call, as every client must see them. */
const ways = (secret: string) => [
  {
    name: 'allowed',
    method: 'POST',
    body: '{"text":"hello"}',
    status: 200,
    decision: 'ALLOW',
    arrives: '{"text":"hello"}',
  },
  {
    name: 'sanitized',
    method: 'POST',
    body: `{"text":"the key is ${secret}, keep it"}`,
    status: 200,
    decision: 'SANITIZE',
    arrives: /^\{"text":"the key is \[REDACTED:aws[a-z-]*\], keep it"\}$/,
  },
  { name: 'denied', method: 'DELETE', body: '', status: 403, decision: 'DENY', arrives: undefined },
];

t.test('curl, Node and Python see the same three answers through an intercepted tunnel', async (t) => {
  const { gateway, upstream, authority } = await startLab(t);
  const url = `https://${authority}/v1/things?x=1`;

  const clients: Record<
    string,
    (method: string, body: string) => Promise<{ status: number; decision: string }>
  > = {
    async curl(method, body) {
      const args = ['-s', '-o', '/dev/null', '-w', '%{http_code} %header{x-service-decision}', '-X', method];
      args.push(
        '--cacert',
        gateway.caFile,
        '-x',
        gateway.proxyWithKey,
        '-H',
        'content-type: application/json',
      );
      if (body) args.push('-d', body);
      const { stdout } = await run('curl', [...args, url]);
      const [status, decision = ''] = stdout.split(' ');
      return { status: Number(status), decision };
    },
    async python3(method, body) {
      const script = [
        'import sys, ssl, urllib.request, urllib.error',
        'proxy, ca, method, url, body = sys.argv[1:]',
        'context = ssl.create_default_context(cafile=ca)',
        'handlers = [urllib.request.ProxyHandler({"https": proxy}), urllib.request.HTTPSHandler(context=context)]',
        'headers = {"content-type": "application/json"}',
        'request = urllib.request.Request(url, data=body.encode() or None, method=method, headers=headers)',
        'try: answer = urllib.request.build_opener(*handlers).open(request, timeout=20)',
        'except urllib.error.HTTPError as error: answer = error',
        'print(answer.status, answer.headers["x-service-decision"])',
      ].join('\n');
      const { stdout, stderr } = await run('python3', [
        '-c',
        script,
        gateway.proxyWithKey,
        gateway.caFile,
        method,
        url,
        body,
      ]);
      const [status, decision = ''] = stdout.trim().split(' ');
      if (!status) throw new Error(stderr);
      return { status: Number(status), decision };
    },
    async node(method, body) {
      const { hostname, port, protocol } = new URL(gateway.proxyUrl);
      const agent = new ProxyAgent({
        uri: `${protocol}//${hostname}:${port}`,
        token: `Bearer ${gateway.key}`,
        requestTls: { ca: readFileSync(gateway.caFile, 'utf8') },
      });
      const answer = await request(url, {
        method: method as Dispatcher.HttpMethod,
        headers: { 'content-type': 'application/json' },
        body: body || null,
        dispatcher: agent,
      });
      await answer.body.dump();
      await agent.close();
      return { status: answer.statusCode, decision: String(answer.headers['x-service-decision']) };
    },
  };

  for (const [program, call] of Object.entries(clients)) {
    if (program !== 'node' && !needProgram(t, program)) continue;
    for (const way of ways(awsKeyId())) {
      await t.test(`${program} has a call ${way.name}`, async (t) => {
        const before = upstream.requests.length;
        t.match(await call(way.method, way.body), { status: way.status, decision: way.decision });
        const arrived = upstream.requests.slice(before);
        if (way.arrives === undefined) {
          t.equal(arrived.length, 0, 'nothing reaches the upstream');
          return;
        }
        t.equal(arrived.length, 1, 'the upstream is called once');
        const body = arrived[0]?.body.toString() ?? '';
        t.match(body, way.arrives, 'the body that arrives');
        t.equal(
          arrived[0]?.headers['content-length'],
          String(Buffer.byteLength(body)),
          'its length is right',
        );
      });
    }
  }
});

t.test('/v1/scan gives the decisions that the proxy gives', async (t) => {
  const { gateway, authority, tunnel } = await startLab(t);
  const socket = await tunnel();
  t.teardown(() => socket.destroy());
  for (const way of ways(awsKeyId())) {
    const headers = { host: authority, 'content-type': 'application/json' };
    const proxied = await send(socket, { method: way.method, path: '/v1/things', headers, body: way.body });
    const url = `https://${authority}/v1/things`;
    const scanned = await gateway.api('POST', '/v1/scan', {
      method: way.method,
      url,
      headers: { 'content-type': 'application/json' },
      ...(way.body ? { body: JSON.parse(way.body) } : {}),
    });
    t.equal(scanned.status, 200, 'a scan is answered');
    t.equal(scanned.body.decision, way.decision, way.name);
    t.equal(proxied.headers['x-service-decision'], way.decision, way.name);
    if (way.decision === 'SANITIZE') {
      t.type(scanned.body.sanitized_body, 'object', 'the sanitized body has the type of the body');
      t.match(scanned.body.sanitized_body.text, /^the key is \[REDACTED:/);
    }
  }
});

t.test('a held call is answered with its approval, the same for an identical one', async (t) => {
  const { gateway, upstream, authority, tunnel } = await startLab(t);
  const socket = await tunnel();
  t.teardown(() => socket.destroy());
  const put = () =>
    send(socket, { method: 'PUT', path: '/merge', headers: { host: authority }, body: '{"sha":1}' });
  const first = await put();
  const again = await put();
  t.equal(first.status, 403);
  t.equal(first.headers['x-service-decision'], 'REQUIRE_APPROVAL');
  const problem = JSON.parse(first.body.toString());
  t.match(problem, {
    code: 'APPROVAL_REQUIRED',
    reason: 'APPROVAL_REQUIRED',
    approval_id: String,
    trace_id: String,
  });
  t.equal(first.headers['x-service-approval-id'], problem.approval_id);
  t.equal(
    JSON.parse(again.body.toString()).approval_id,
    problem.approval_id,
    'an identical call waits for the same approval',
  );
  const status = await gateway.api('GET', new URL(problem.status_url).pathname);
  t.match(status, {
    status: 200,
    body: { status: 'pending', approval_id: problem.approval_id, expires_at: String },
  });
  t.equal(upstream.requests.length, 0, 'nothing reaches the upstream');
});

t.test('bodies and answers pass byte for byte, and hop-by-hop fields stay behind', async (t) => {
  const answer = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 31) & 0xff));
  const { upstream, authority, tunnel } = await startLab(t, (_request, response) => {
    response.writeHead(201, [
      'Set-Cookie',
      'a=1',
      'Set-Cookie',
      'b=2',
      'X-Odd',
      'value',
      'X-Service-Decision',
      'DENY',
    ]);
    response.end(answer);
  });
  const socket = await tunnel();
  t.teardown(() => socket.destroy());
  const body = Buffer.from(Array.from({ length: 50_000 }, (_, i) => (i % 7 === 0 ? 0x0a : 0x61 + (i % 26))));
  const reply = await send(socket, {
    method: 'POST',
    path: '/a%2Fb?q=%20x&y=a+b',
    headers: {
      host: authority,
      'x-one': 'kept',
      connection: 'keep-alive, x-gone',
      'x-gone': 'no',
      'content-type': 'text/plain',
    },
    body,
  });
  t.equal(reply.status, 201);
  t.ok(reply.body.equals(answer), 'the answer is what the upstream sent');
  t.same(reply.headers['set-cookie'], ['a=1', 'b=2']);
  t.equal(reply.headers['x-service-decision'], 'ALLOW', 'an upstream cannot speak for the gateway');
  const [arrived] = upstream.requests;
  t.ok(arrived?.body.equals(body), 'the request body is what the agent sent');
  t.equal(arrived?.url, '/a%2Fb?q=%20x&y=a+b');
  t.match(arrived?.headers, { 'x-one': 'kept', host: authority, via: /postern/ });
  t.notOk(arrived?.headers['x-gone'], 'a field that Connection names is not forwarded');
  t.notOk(arrived?.headers['proxy-authorization']);
});

t.test('the proxy wants a key', async (t) => {
  const { gateway, authority, upstream } = await startLab(t);
  const { proxyUrl, key } = gateway;
  const cases: { name: string; authorization?: string; status: number }[] = [
    { name: 'none', status: 407 },
    { name: 'an unknown scheme', authorization: `Digest ${key}`, status: 407 },
    { name: 'rubbish', authorization: 'Basic !!!!', status: 407 },
    {
      name: 'a wrong checksum',
      authorization: basic(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`),
      status: 407,
    },
    { name: 'a user without a key', authorization: basic('', 'agent'), status: 407 },
    { name: 'Basic with a user', authorization: basic(key), status: 200 },
    { name: 'Basic with the key as user', authorization: basic('', key), status: 200 },
    { name: 'Bearer', authorization: `Bearer ${key}`, status: 200 },
  ];
  for (const { name, authorization, status } of cases) {
    const opened = await openTunnel({ proxyUrl, authority, ...(authorization ? { authorization } : {}) });
    t.equal(opened.status, status, name);
    if (status === 407) t.match(opened.headers['proxy-authenticate'], /^Basic/, 'and says how');
    opened.socket.destroy();
  }
  const plain = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const { hostname, port } = new URL(proxyUrl);
    http
      .get(
        { host: hostname, port, path: 'http://api.test.example/', headers: { host: 'api.test.example' } },
        resolve,
      )
      .on('error', reject);
  });
  t.equal(plain.statusCode, 407, 'a request in absolute-form as well');
  plain.resume();
  t.equal(upstream.connections(), 0, 'nothing was dialled');
});

t.test('plain http goes in absolute-form, and through a tunnel', async (t) => {
  const upstream = await startUpstream(t, undefined, { tls: false });
  const gateway = await startTestGateway(t, { upstream });
  const authority = `api.test.example:${upstream.port}`;
  const { hostname, port } = new URL(gateway.proxyUrl);
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const headers = { host: authority, 'proxy-authorization': basic(gateway.key) };
    http.get({ host: hostname, port, path: `http://${authority}/x`, headers }, resolve).on('error', reject);
  });
  answer.resume();
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers['x-service-decision'], 'ALLOW');
  const { socket } = await openTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority,
  });
  t.teardown(() => socket.destroy());
  const inside = await send(socket, { path: '/y', headers: { host: authority } });
  t.equal(inside.status, 200);
  t.same(
    upstream.requests.map((it) => it.url),
    ['/x', '/y'],
  );
});

t.test('curl may speak HTTP/1.0, and send a URL as it was typed', async (t) => {
  if (!needProgram(t, 'curl')) return;
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream });
  for (const version of ['--http1.0', '--http1.1', '--http2']) {
    const { stdout } = await run('curl', [
      ...['-s', '-o', '/dev/null', '-w', '%{http_code}', version, '--cacert', gateway.caFile],
      ...['-x', gateway.proxyWithKey, `https://api.test.example:${upstream.port}/a?q=ü`],
    ]);
    t.equal(stdout, '200', version);
  }
  t.same(new Set(upstream.requests.map(({ url }) => url)), new Set(['/a?q=%C3%BC']));
});

t.test('what names another URL reaches servers of the operator alone, and is judged there', async (t) => {
  const upstream = await startUpstream(t, undefined, { tls: false });
  const allow_private = ['127.0.0.1/32', '::1/128'];
  const resolve = [{ host: '*.test.example', address: '127.0.0.1', port: upstream.port }];
  const gateway = await startTestGateway(t, { config: { upstream: { allow_private, resolve } } });
  const shut = { rule_id: 'shut', priority: 1, match: { url_patterns: ['*/shut/*'] }, action: 'DENY' };
  t.match(await gateway.apply([shut]), { status: 200 });
  const fields = {
    'X-Original-URL': '/open/y',
    x_rewrite_url: '/open/y',
    'X-Forwarded-Prefix': '/open',
    'X-Forwarded-Host': 'other.example',
    Forwarded: 'host=other.example',
  };
  const get = async (host: string, headers: http.OutgoingHttpHeaders) => {
    const authority = `${host}:${upstream.port}`;
    const { hostname, port } = new URL(gateway.proxyUrl);
    const answer = http.get({
      ...{ hostname, port, path: `http://${authority}/open/x` },
      headers: { host: authority, 'proxy-authorization': basic(gateway.key), 'x-kept': '1', ...headers },
    });
    const [response] = (await once(answer, 'response')) as [http.IncomingMessage];
    response.resume();
    const names = Object.keys(upstream.requests.at(-1)?.headers ?? {});
    return { status: response.statusCode, names };
  };
  const lower = Object.keys(fields).map((it) => it.toLowerCase());

  const own = await get('api.test.example', fields);
  t.equal(own.status, 200);
  t.strictSame(
    lower.filter((it) => own.names.includes(it)),
    lower,
    'as they came, to a server of ours',
  );
  t.equal((await get('127.0.0.1', { 'X-Original-URL': '/open/y' })).status, 200);
  t.ok(upstream.requests.at(-1)?.headers['x-original-url'], 'also by an address in allow_private');
  const count = upstream.requests.length;
  for (const host of ['api.test.example', '127.0.0.1'])
    t.equal((await get(host, { 'X-Original-URL': '/shut/y' })).status, 403, `judged at ${host}`);
  t.equal(upstream.requests.length, count);

  // The name service leads here: nobody has said whose server it is.
  const other = await get('localhost', { ...fields, 'X-Rewrite-URL': '/shut/y' });
  t.equal(other.status, 200, 'what a server is not told is not judged');
  t.ok(other.names.includes('x-kept'));
  t.strictSame(
    lower.filter((it) => other.names.includes(it)),
    [],
    'none to a stranger',
  );
});

t.test('a tunnel serves the host that it was opened for, and no other', async (t) => {
  const { gateway, upstream, authority, ca, tunnel } = await startLab(t);
  const good = await tunnel();
  t.teardown(() => good.destroy());
  const another = await send(good, { path: '/', headers: { host: 'evil.test.example' } });
  t.equal(another.status, 421, 'another Host');
  t.match(another.body.toString(), `The Host field must say ${authority}`);
  const absolute = await send(good, { path: 'https://evil.test.example/', headers: { host: authority } });
  t.equal(absolute.status, 421, 'another absolute target');
  const other = await openSecureTunnel({
    proxyUrl: gateway.proxyUrl,
    authorization: basic(gateway.key),
    authority,
    ca,
    serverName: 'evil.test.example',
  });
  t.teardown(() => other.destroy());
  t.equal(
    (await send(other, { path: '/', headers: { host: authority } })).status,
    421,
    'another name in the handshake',
  );
  const spelled = await tunnel();
  t.teardown(() => spelled.destroy());
  const same = await send(spelled, {
    path: '/',
    headers: { host: authority.replace('api.test', 'API.Test') },
  });
  t.equal(same.status, 200, 'the same name in another case is the same host');
  t.equal(upstream.requests.length, 1);
});

t.test('OPTIONS * asks the server as a whole, is judged as the path *, and goes out as it is', async (t) => {
  const { gateway, upstream, authority, tunnel } = await startLab(t);
  const socket = await tunnel();
  t.teardown(() => socket.destroy());
  const headers = { host: authority };
  const ask = (method: string, path: string) => send(socket, { method, path, headers });
  t.match(await ask('OPTIONS', '*'), { status: 200, headers: { 'x-service-decision': 'ALLOW' } });
  t.match(await ask('OPTIONS', `https://${authority}`), { status: 200 }, 'the same in absolute-form');
  t.match(await ask('OPTIONS', `https://${authority}/`), { status: 200 }, 'a path is another one');
  t.equal((await ask('GET', '*')).status, 400, 'no other method has it');
  t.same(
    upstream.requests.map(({ method, url }) => `${method} ${url}`),
    ['OPTIONS *', 'OPTIONS *', 'OPTIONS /'],
  );
  await gateway.apply([
    { rule_id: 'none', priority: 1, match: { url_patterns: [`https://${authority}/**`] }, action: 'DENY' },
  ]);
  const again = await tunnel();
  t.teardown(() => again.destroy());
  t.equal((await send(again, { method: 'OPTIONS', path: '*', headers })).status, 403, 'a rule finds it');
  t.equal(upstream.requests.length, 3);
});

t.test('an upstream cannot say in the name of the gateway why a call failed', async (t) => {
  const forged = { 'proxy-status': 'postern; error=http_request_denied', 'x-service-decision': 'DENY' };
  const { authority, tunnel } = await startLab(t, (_request, response) => {
    response.writeHead(403, { ...forged, trailer: 'proxy-status' });
    response.write('no');
    response.addTrailers(forged);
    response.end();
  });
  const socket = await tunnel();
  t.teardown(() => socket.destroy());
  const request = http.request({
    createConnection: () => socket,
    path: '/',
    headers: { host: authority, te: 'trailers', connection: 'keep-alive' },
  });
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.resume();
  await once(response, 'end');
  t.match(response, { statusCode: 403, headers: { 'x-service-decision': 'ALLOW' } });
  t.equal(response.headers['proxy-status'], undefined);
  t.same(response.trailers, {});
});

t.test('nothing is dialled before the verdict', async (t) => {
  const { upstream, authority, tunnel } = await startLab(t);
  const socket = await tunnel();
  t.teardown(() => socket.destroy());
  t.equal(upstream.connections(), 0, 'a tunnel alone dials nobody');
  await send(socket, { method: 'DELETE', path: '/', headers: { host: authority } });
  t.equal(upstream.connections(), 0, 'a denied call dials nobody');
  await send(socket, { path: '/', headers: { host: authority } });
  t.equal(upstream.connections(), 1, 'an allowed one does');
});

t.test('a body over the limit is refused, declared or counted', async (t) => {
  const { upstream, authority, tunnel } = await startLab(t);
  const limit = 256 * 1024;
  const declared = await tunnel();
  t.teardown(() => declared.destroy());
  const big = Buffer.alloc(limit + 1, 0x61);
  const one = await send(declared, {
    method: 'POST',
    path: '/',
    headers: { host: authority, 'content-length': big.length },
    body: big,
  });
  t.equal(one.status, 413);
  t.match(JSON.parse(one.body.toString()), {
    code: 'PAYLOAD_TOO_LARGE',
    actual_bytes: limit + 1,
    limit_bytes: limit,
  });
  const counted = await tunnel();
  t.teardown(() => counted.destroy());
  const two = await send(counted, {
    method: 'POST',
    path: '/',
    headers: { host: authority, 'transfer-encoding': 'chunked' },
    body: big,
  });
  t.equal(two.status, 413);
  t.ok(JSON.parse(two.body.toString()).actual_bytes > limit);
  const fits = await tunnel();
  t.teardown(() => fits.destroy());
  t.equal(
    (await send(fits, { method: 'POST', path: '/', headers: { host: authority }, body: big.subarray(1) }))
      .status,
    200,
  );
  t.equal(upstream.requests.length, 1);
});

t.test('a secret in the URL or a header cannot be cut out, so the call is denied', async (t) => {
  const { upstream, authority, tunnel } = await startLab(t);
  const socket = await tunnel();
  t.teardown(() => socket.destroy());
  const secret = awsKeyId();
  const inQuery = await send(socket, { path: `/x?token=${secret}`, headers: { host: authority } });
  const inHeader = await send(socket, { path: '/x', headers: { host: authority, 'x-debug': secret } });
  for (const reply of [inQuery, inHeader]) {
    t.equal(reply.status, 403);
    t.match(reply.headers['x-service-reasons'], /^UNSANITIZABLE/);
    t.notMatch(reply.body.toString(), secret, 'the answer does not repeat it');
  }
  t.equal(upstream.requests.length, 0);
});

t.test('a revoked key stops its open tunnels from the next call on', async (t) => {
  const { gateway, upstream, authority, ca } = await startLab(t);
  const second = await gateway.mint({ name: 'second' });
  const open = { proxyUrl: gateway.proxyUrl, authorization: basic(second.key), authority, ca };
  const socket = await openSecureTunnel(open);
  t.teardown(() => socket.destroy());
  t.equal((await send(socket, { path: '/', headers: { host: authority } })).status, 200);
  const revoked = await gateway.api('DELETE', `/v1/keys/${second.key_id}`);
  t.match(revoked, { status: 200, body: { status: 'revoked' } });
  t.equal((await send(socket, { path: '/', headers: { host: authority } })).status, 401);
  t.equal(upstream.requests.length, 1);
  const anew = await openTunnel(open);
  t.equal(anew.status, 407, 'and no new one is opened');
  anew.socket.destroy();
});

t.test('server-sent events are not held back', async (t) => {
  // The upstream sends an event only when the client has seen the one before: held back, the stream would stand still.
  let sendNext: (() => void) | undefined;
  const { authority, tunnel } = await startLab(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let number = 0;
    sendNext = () => {
      number += 1;
      response.write(`data: ${number}\n\n`);
      if (number === 5) response.end();
    };
    response.flushHeaders();
  });
  const socket = await tunnel();
  t.teardown(() => socket.destroy());
  const call = http.request({
    createConnection: () => socket,
    path: '/events',
    headers: { host: authority },
  });
  call.end();
  const [response] = (await once(call, 'response')) as [http.IncomingMessage];
  t.equal(response.headers['content-type'], 'text/event-stream', 'the head arrives before the first event');
  const seen: string[] = [];
  sendNext?.();
  for await (const chunk of response) {
    seen.push(String(chunk));
    sendNext?.();
    if (seen.length === 5) break;
  }
  t.same(
    seen,
    [1, 2, 3, 4, 5].map((it) => `data: ${it}\n\n`),
  );
});

t.test('a client that leaves ends the upstream request, and the other way round', async (t) => {
  const { promise: upstreamClosed, resolve: onUpstreamClosed } = Promise.withResolvers<void>();
  const { authority, tunnel } = await startLab(t, (request, response) => {
    if (request.url === '/endless') {
      response.once('close', () => onUpstreamClosed());
      response.writeHead(200);
      response.write('begin');
    } else {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half');
      setImmediate(() => response.destroy());
    }
  });
  const leaving = await tunnel();
  const call = http.request({
    createConnection: () => leaving,
    path: '/endless',
    headers: { host: authority },
  });
  call.on('error', () => undefined);
  call.end();
  const [response] = (await once(call, 'response')) as [http.IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  leaving.destroy();
  await upstreamClosed;
  t.pass('the upstream request ended');

  const left = await tunnel();
  t.teardown(() => left.destroy());
  await t.rejects(
    send(left, { path: '/half', headers: { host: authority } }),
    'a cut answer does not look whole',
  );
});
