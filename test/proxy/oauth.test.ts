import { generateKeyPairSync, type KeyObject, randomBytes, verify } from 'node:crypto';
import type http from 'node:http';
import t, { type Test } from 'tap';
import { run, send } from '../support/clients.ts';
import { type CredentialLab, startCredentialLab } from '../support/credential-lab.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

const label = '[REDACTED:credential]';
const newSecret = (): string => `s${randomBytes(20).toString('hex')}`;

type AnswerToken = (response: http.ServerResponse, nth: number) => void;

const giveToken: AnswerToken = (response, nth) =>
  response.end(
    JSON.stringify({ access_token: `token-${nth}-of-acme`, token_type: 'Bearer', expires_in: 3600 }),
  );

interface TokenLab extends CredentialLab {
  readonly secret: string;
  /** Requests that came to the token endpoint. */
  asked(): readonly { readonly headers: http.IncomingHttpHeaders; readonly body: Buffer }[];
  /** The Authorization fields that came to the API. */
  sent(): readonly (string | undefined)[];
}

const host = 'tokens.test.example';

/** An API and a token endpoint, which are one server under two names. */
async function startTokenLab(
  t: Test,
  { answer = giveToken, fields = {} }: { answer?: AnswerToken; fields?: object } = {},
  answerCall: (request: http.IncomingMessage, response: http.ServerResponse) => void = (_, response) =>
    void response.end('{}'),
): Promise<TokenLab> {
  const secret = newSecret();
  let given = 0;
  const lab = await startCredentialLab(t, {
    credentials: [
      {
        name: 'bot',
        type: 'oauth2_client_credentials',
        token_url: `https://${host}/token`,
        client_id: 'the bot',
        client_secret: secret,
        scopes: ['read', 'write'],
        audience: 'https://api.test.example/',
        hosts: ['api.test.example'],
        ...fields,
      },
    ],
    handler(request, response) {
      if (request.headers.host?.startsWith(host) && request.url === '/token') {
        given += 1;
        answer(response, given);
      } else answerCall(request, response);
    },
  });
  const isToken = (it: { url: string; headers: http.IncomingHttpHeaders }) => it.url === '/token';
  return {
    ...lab,
    secret,
    asked: () => lab.upstream.requests.filter(isToken),
    sent: () => lab.upstream.requests.filter((it) => !isToken(it)).map((it) => it.headers.authorization),
  };
}

t.test('a hundred calls at once ask for one token, and all go out with it', async (t) => {
  const lab = await startTokenLab(t);
  const tunnels = await Promise.all(Array.from({ length: 100 }, () => lab.tunnel()));
  const headers = { host: `api.test.example:${lab.upstream.port}` };
  const replies = await Promise.all(tunnels.map((socket) => send(socket, { path: '/x', headers })));
  t.same(new Set(replies.map((it) => it.status)), new Set([200]));
  t.equal(lab.asked().length, 1);
  t.same(new Set(lab.sent()), new Set(['Bearer token-1-of-acme']));
  t.equal(lab.sent().length, 100);
  const [{ headers: asked, body } = { headers: {}, body: Buffer.alloc(0) }] = lab.asked();
  t.equal(asked.authorization, `Basic ${Buffer.from(`the+bot:${lab.secret}`).toString('base64')}`);
  t.equal(
    body.toString(),
    'grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fapi.test.example%2F',
  );
  t.equal(asked['content-type'], 'application/x-www-form-urlencoded');
});

t.test('an agent sees neither token nor secret, whatever is echoed and wherever', async (t) => {
  const lab = await startTokenLab(t, {}, (request, response) => {
    response.setHeader('X-Echo', request.headers.authorization ?? 'none');
    response.end(`<${request.headers.authorization}> <${lab.secret}> <token-1-of-acme>`);
  });
  const own = await lab.call('/echo', { headers: { authorization: 'Bearer own', cookie: 'a=b' } });
  t.equal(own.body.toString(), `<${label}> <${label}> <${label}>`);
  t.match(own.headers['x-echo'], label);
  const { body } = await lab.call('/debug', { host });
  t.notMatch(body.toString(), lab.secret, 'the host of the token endpoint has got the secret, too');
  t.notMatch(body.toString(), 'token-1-of-acme');
});

t.test('tokens that are still valid are not shown, however many came after them', async (t) => {
  const echo = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const nth = Number(/token-(\d+)/.exec(request.headers.authorization ?? '')?.[1]);
    response.end(Array.from({ length: nth }, (_, i) => `<token-${i + 1}-of-acme>`).join(''));
  };
  const lab = await startTokenLab(t, {}, echo);
  const shown = async (): Promise<string> => (await lab.call('/log')).body.toString();
  t.equal(await shown(), `<${label}>`);
  for (const nth of [2, 3, 4]) {
    await lab.gateway.reload();
    t.equal(await shown(), `<${label}>`.repeat(nth), 'each generation of the configuration asks anew');
  }
});

const failures: Record<string, [AnswerToken, RegExp]> = {
  'says no': [
    (response) => response.writeHead(401).end('{"error":"invalid_client"}'),
    /answered 401 \(invalid_client\)/,
  ],
  redirects: [(response) => response.writeHead(302, { Location: '/other' }).end(), /answered 302/],
  'answers a page': [(response) => response.end('<html>'), /no object of JSON/],
  'does not end': [
    (response) => {
      response.write('{');
      for (let i = 0; i < 100; i += 1) response.write(' '.repeat(1024));
    },
    /cannot be asked: The upstream broke the protocol/,
  ],
  'hangs up': [(response) => response.destroy(), /cannot be asked/],
  'answers half': [
    (response) => {
      response.writeHead(200, { 'Content-Length': 100 });
      response.write('{"access_token":"a"', () => response.destroy());
    },
    /cannot be asked/,
  ],
  'answers a field with a line break': [
    (response) => response.end('{"access_token":"a\\r\\nX-Evil: 1","token_type":"Bearer"}'),
    /no token that can be sent/,
  ],
};
for (const [name, [answer, reason]] of Object.entries(failures))
  t.test(`a token endpoint that ${name} fails the calls, and is asked no more for a while`, async (t) => {
    const lab = await startTokenLab(t, { answer });
    for (let i = 0; i < 3; i += 1) {
      const { status, body } = await lab.call('/x', { headers: { authorization: 'Bearer own' } });
      t.equal(status, 502);
      const problem = JSON.parse(body.toString());
      t.equal(problem.code, 'CREDENTIAL_UNAVAILABLE');
      t.match(problem.detail, reason);
      t.notMatch(body.toString(), lab.secret);
    }
    // One that hangs up without a byte may be asked a second time on a fresh connection.
    t.ok(lab.asked().length <= 2, `it was asked ${lab.asked().length} times`);
    t.same(lab.sent(), [], 'nothing goes out without its credential');
  });

t.test('the token endpoint is reached by the guard of all calls', async (t) => {
  const lab = await startCredentialLab(t, {
    credentials: [
      {
        name: 'bot',
        type: 'oauth2_client_credentials',
        token_url: 'https://169.254.169.254/latest/meta-data',
        client_id: 'a',
        client_secret: newSecret(),
        hosts: ['api.test.example'],
      },
    ],
  });
  const { status, body } = await lab.call('/x');
  t.equal(status, 502);
  t.match(JSON.parse(body.toString()), {
    code: 'CREDENTIAL_UNAVAILABLE',
    detail: /cannot be asked: Upstream address is not allowed|cannot be asked/,
  });
  t.equal(lab.upstream.requests.length, 0);
});

t.test('a certificate that nobody knows gives no token, and gets no secret', async (t) => {
  const stranger = await startUpstream(t);
  const lab = await startCredentialLab(t, {
    credentials: [
      {
        name: 'bot',
        type: 'oauth2_client_credentials',
        // The certificate has other names.
        token_url: `https://127.0.0.2:${stranger.port}/token`,
        client_id: 'a',
        client_secret: newSecret(),
        hosts: ['api.test.example'],
      },
    ],
  });
  t.equal((await lab.call('/x')).status, 502);
  t.equal(stranger.requests.length, 0);
});

t.test('what is in the vault is taken from there: set, rotated, listed and revoked', async (t) => {
  const lab = await startTokenLab(t, { fields: { client_secret: undefined, vault: true } });
  const put = (secret: object) =>
    lab.admin('PUT', '/v1/credentials/bot', { type: 'oauth2_client_credentials', secret });
  const passwordOf = (nth: number): string | undefined =>
    Buffer.from((lab.asked()[nth]?.headers.authorization ?? '').slice(6), 'base64')
      .toString()
      .split(':')[1];
  t.equal((await lab.call('/x')).status, 502);
  const [first, second] = [newSecret(), newSecret()];
  const socket = await lab.tunnel();
  const inTunnel = async () =>
    send(socket, { path: '/x', headers: { host: `api.test.example:${lab.upstream.port}` } });

  t.equal((await put({ client_secret: first })).status, 200);
  t.equal((await inTunnel()).status, 200);
  t.equal(passwordOf(0), first);
  t.equal((await put({ client_secret: second })).status, 200);
  t.equal((await inTunnel()).status, 200);
  t.equal(passwordOf(1), second, 'with another secret its token is fetched anew');
  t.equal(lab.sent().at(-1), 'Bearer token-2-of-acme');

  t.equal((await lab.admin('DELETE', '/v1/credentials/bot')).status, 200);
  const { status, body } = await inTunnel();
  t.equal(status, 502, 'in the same tunnel, whatever token there is');
  t.equal(JSON.parse(body.toString()).code, 'CREDENTIAL_UNAVAILABLE');
  t.equal((await put({ client_secret: second })).status, 200);
  t.equal((await inTunnel()).status, 200);
  t.equal(lab.asked().length, 3, 'what was taken out and put in again has no token from before');

  for (const secret of [
    {},
    { client_secret: 'a\nb' },
    { client_secret: 'a', token_url: 'http://x.example/' },
  ])
    t.equal((await put(secret)).status, 400, JSON.stringify(secret));
});

t.test('a credential that is revoked while its token is fetched is not sent', async (t) => {
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const lab = await startTokenLab(t, {
    fields: { client_secret: undefined, vault: true },
    async answer(response, nth) {
      asked.resolve();
      await go.promise;
      giveToken(response, nth);
    },
  });
  await lab.admin('PUT', '/v1/credentials/bot', {
    type: 'oauth2_client_credentials',
    secret: { client_secret: newSecret() },
  });
  const call = lab.call('/x');
  await asked.promise;
  t.equal((await lab.admin('DELETE', '/v1/credentials/bot')).status, 200);
  go.resolve();
  t.equal((await call).status, 502);
  t.same(lab.sent(), []);
});

t.test('a call is not sent by a route that is deleted while its token is fetched', async (t) => {
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const lab = await startTokenLab(t, {
    async answer(response, nth) {
      asked.resolve();
      await go.promise;
      giveToken(response, nth);
    },
  });
  const { controlUrl, key } = lab.gateway;
  const made = { tenant_id: 'acme', prefix: 'gone', upstream: 'https://api.test.example', credential: 'bot' };
  t.equal((await lab.admin('POST', '/v1/inbound-routes', made)).status, 201);
  const call = fetch(`${controlUrl}/inbound/gone/x`, { headers: { authorization: `Bearer ${key}` } });
  await asked.promise;
  t.equal((await lab.admin('DELETE', '/v1/inbound-routes/gone')).status, 200);
  go.resolve();
  t.equal((await call).status, 404);
  t.same(lab.sent(), []);
});

t.test('a reload fetches anew', async (t) => {
  const lab = await startTokenLab(t);
  t.equal((await lab.call('/x')).status, 200);
  t.equal(await lab.gateway.reload(), true);
  t.equal((await lab.call('/x')).status, 200);
  t.equal(lab.asked().length, 2);
});

t.test('a route sends a token, too, also of a credential that only the vault knows', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url === '/token') giveToken(response, 1);
    else response.end('{}');
  });
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      inbound: [
        { prefix: 'api', tenant: 'acme', upstream: 'https://api.test.example/v1', credential: 'hidden' },
      ],
    },
  });
  const secret = {
    token_url: `https://${host}/token`,
    client_id: 'bot',
    client_secret: newSecret(),
    scopes: ['read'],
  };
  const body = { tenant_id: 'acme', type: 'oauth2_client_credentials', secret };
  const put = await gateway.api('PUT', '/v1/credentials/hidden', body, `Bearer ${gateway.adminSecret}`);
  t.equal(put.status, 200);
  const ran = await run('curl', [
    '-s',
    '-H',
    `Authorization: Bearer ${gateway.key}`,
    `${gateway.controlUrl}/inbound/api/items`,
  ]);
  t.equal(ran.stdout, '{}');
  t.equal(upstream.requests.at(-1)?.headers.authorization, 'Bearer token-1-of-acme');
});

const pemOf = (key: KeyObject): string => String(key.export({ type: 'pkcs8', format: 'pem' }));

t.test('a secret goes in the form where the server wants it there', async (t) => {
  const lab = await startTokenLab(t, { fields: { client_authentication: 'client_secret_post' } });
  t.equal((await lab.call('/x')).status, 200);
  const [{ headers, body } = { headers: {}, body: Buffer.alloc(0) }] = lab.asked();
  t.equal(headers.authorization, undefined);
  const form = Object.fromEntries(new URLSearchParams(body.toString()));
  t.match(form, { grant_type: 'client_credentials', client_id: 'the bot', client_secret: lab.secret });
  t.equal(lab.sent()[0], 'Bearer token-1-of-acme');
});

const signers = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
};
for (const [algorithm, makeKeys] of Object.entries(signers))
  t.test(`a client signs who it is with ${algorithm}, and its key goes nowhere`, async (t) => {
    const { privateKey, publicKey } = makeKeys();
    const fields = {
      client_secret: undefined,
      client_authentication: 'private_key_jwt',
      private_key: pemOf(privateKey),
      key_id: 'key-1',
    };
    const lab = await startTokenLab(t, { fields });
    t.equal((await lab.call('/x')).status, 200);
    const [{ headers, body } = { headers: {}, body: Buffer.alloc(0) }] = lab.asked();
    t.equal(headers.authorization, undefined);
    const form = new URLSearchParams(body.toString());
    t.equal(form.get('client_id'), 'the bot');
    t.equal(form.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    const [head = '', claims = '', signature = ''] = (form.get('client_assertion') ?? '').split('.');
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    t.same(decode(head), { alg: algorithm, kid: 'key-1' });
    const { iss, sub, aud, exp, iat, jti } = decode(claims);
    t.match({ iss, sub, aud }, { iss: 'the bot', sub: 'the bot', aud: `https://${host}/token` });
    t.equal(exp - iat, 60);
    t.ok(jti);
    const isSigned = verify(
      algorithm === 'EdDSA' ? null : 'sha256',
      Buffer.from(`${head}.${claims}`),
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    t.ok(isSigned, 'the server can verify it');
  });

t.test('a key that signs is set and rotated in the vault', async (t) => {
  const lab = await startTokenLab(t, {
    fields: { client_secret: undefined, vault: true, client_authentication: 'private_key_jwt' },
  });
  const put = (secret: object) =>
    lab.admin('PUT', '/v1/credentials/bot', { type: 'oauth2_client_credentials', secret });
  const { privateKey } = signers.ES256();
  t.equal((await put({ private_key: pemOf(privateKey) })).status, 200);
  t.equal((await lab.call('/x')).status, 200);
  t.ok(new URLSearchParams(lab.asked()[0]?.body.toString()).has('client_assertion'));
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  for (const secret of [
    { private_key: pemOf(privateKey), client_secret: 'a' },
    { private_key: 'a' },
    { private_key: pemOf(weak) },
  ]) {
    const { status, body } = await put(secret);
    t.equal(status, 400);
    t.notMatch(body.toString(), 'BEGIN');
  }
});
