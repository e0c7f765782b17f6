import t from 'tap';
import { destinationOf, loadCatalogue } from '../../../src/catalogue/catalogue.ts';
import { requestOf } from '../support.ts';

const suite = {
  name: 'suite',
  title: 'Suite',
  hosts: ['api.suite.example'],
  base_paths: ['/v1'],
  extract: { org: 'path:org' },
  batch: [
    { call: 'POST /$batch', requests: '$.requests', below: true },
    { call: 'POST /composite', requests: '$.compositeRequest' },
    { call: 'POST /batch', requests: 'multipart' },
    {
      call: 'POST /actions',
      requests: '$.data.actions',
      names: { url: 'relative_path', body: 'data' },
      below: true,
    },
  ],
  operations: {
    users: {
      list_users: { verb: 'READ', call: 'GET /{org}/users' },
      invite_user: { verb: 'ADMIN', call: 'POST /{org}/users', extract: { principals: 'json:$.email' } },
    },
    mail: { send_email: { verb: 'WRITE', call: 'POST /{org}/mail', extract: { principals: 'json:$.to' } } },
  },
};
const catalogue = loadCatalogue(t.testdir({}), [suite]);
const url = 'https://api.suite.example';

const understand = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  catalogue.understand(requestOf('POST', `${url}${path}`, headers, body));

const shown = ({ name, verb, resource, principals, parts }: ReturnType<typeof understand>) => ({
  name,
  verb,
  resource,
  principals,
  parts: parts?.map((it) => [it.method, it.target?.path, it.operation.name]),
});

const list = { method: 'GET', url: '/acme/users' };
const mail = { method: 'POST', url: '/acme/mail', body: { to: 'eve@example.net' } };
const anything = {
  name: 'batch',
  verb: 'ADMIN',
  resource: { unknown: ['org', 'repo', 'channel', 'region', 'account', 'bucket', 'tags'] },
  principals: ['*'],
  parts: undefined,
};

t.test('a batch is the strictest of its requests, and has them all as parts', async (t) => {
  t.strictSame(
    shown(
      understand('/v1/$batch', {
        requests: [
          { id: '1', ...list },
          { id: '2', ...mail },
        ],
      }),
    ),
    {
      name: 'send_email',
      verb: 'WRITE',
      resource: { org: 'acme' },
      principals: ['eve@example.net'],
      parts: [
        ['GET', '/v1/acme/users', 'list_users'],
        ['POST', '/v1/acme/mail', 'send_email'],
      ],
    },
  );
});

t.test('paths of a batch may stand below it or be whole, with or without a host', async (t) => {
  const parts = (path: string, body: unknown) => shown(understand(path, body)).parts?.map(([, at]) => at);
  t.strictSame(parts('/v1/$batch', { requests: [{ method: 'get', url: 'acme/users?top=1' }] }), [
    '/v1/acme/users?top=1',
  ]);
  t.strictSame(parts('/v1/$batch', { requests: [{ method: 'GET', url: `${url}/v1/acme/users` }] }), [
    '/v1/acme/users',
  ]);
  t.strictSame(parts('/v1/composite', { compositeRequest: [{ method: 'GET', url: '/v1/acme/users' }] }), [
    '/v1/acme/users',
  ]);
  t.strictSame(
    parts('/v1/composite', { compositeRequest: [{ method: 'GET', url: 'https://evil.example/x' }] }),
    ['/x'],
  );
});

t.test('the fields of a request in a batch may have other names', async (t) => {
  const actions = [{ method: 'post', relative_path: '/acme/mail', data: { to: 'eve@example.net' } }];
  const { name, principals } = understand('/v1/actions', { data: { actions } });
  t.strictSame({ name, principals }, { name: 'send_email', principals: ['eve@example.net'] });
});

t.test('a part of a batch has the body and the headers of its own', async (t) => {
  const [part] =
    understand('/v1/$batch', { requests: [{ ...mail, headers: { 'Content-Type': 'application/json' } }] })
      .parts ?? [];
  t.strictSame(part?.body, { kind: 'value', readings: [{ to: 'eve@example.net' }] });
});

const multipart = (requests: readonly string[]) =>
  `${requests.map((it) => `--b\r\nContent-Type: application/http\r\nContent-ID: <1>\r\n\r\n${it}\r\n`).join('')}--b--\r\n`;
const multipartType = { 'content-type': 'multipart/mixed; boundary=b' };

t.test('requests in parts of a multipart body are understood', async (t) => {
  const body = multipart([
    'GET /v1/acme/users HTTP/1.1\r\nAccept: application/json\r\n\r\n',
    'POST /v1/acme/users\r\nContent-Type: application/json\r\n\r\n{"email":"eve@example.net"}',
  ]);
  t.strictSame(shown(understand('/v1/batch', body, multipartType)), {
    name: 'invite_user',
    verb: 'ADMIN',
    resource: { org: 'acme' },
    principals: ['eve@example.net'],
    parts: [
      ['GET', '/v1/acme/users', 'list_users'],
      ['POST', '/v1/acme/users', 'invite_user'],
    ],
  });
});

t.test('a part is as unclear as the same body would be by itself', async (t) => {
  const mailTo = (body: string, type = 'application/json') =>
    understand(
      '/v1/batch',
      multipart([`POST /v1/acme/mail\r\nContent-Type: ${type}\r\n\r\n${body}`]),
      multipartType,
    );
  for (const [body, type] of [
    ['{"to":"ann@acme.example","to":"eve@example.net"}'],
    ['{"to":"ann@acme.example"}', 'application/json; charset=utf-7'],
    ['{"to":'],
  ]) {
    const { parts, principals } = mailTo(body ?? '', type);
    t.strictSame(parts?.[0]?.body, { kind: 'unclear' });
    t.ok(principals.includes('*'), 'it may address anybody');
  }
  const inMiddle = multipart(['GET /v1/acme/users\r\n\r\n']).replace('GET', 'x--b y\r\nGET');
  t.equal(
    understand('/v1/batch', inMiddle, multipartType).name,
    'batch',
    'nor is a boundary that begins no line one',
  );
});

t.test('what a batch does that nobody can take apart may be anything', async (t) => {
  const many = Array.from({ length: 101 }, () => list);
  const unclear = [
    understand('/v1/$batch', {}),
    understand('/v1/$batch', { requests: [] }),
    understand('/v1/$batch', { requests: {} }),
    understand('/v1/$batch', { requests: [list, 'GET /acme/users'] }),
    understand('/v1/$batch', { requests: [list, { method: 'GET' }] }),
    understand('/v1/$batch', { requests: many }),
    understand('/v1/$batch', '{"requests":[{"method":"GET","url":"/acme/users"}],"requests":[]}', {
      'content-type': 'application/json',
    }),
    understand('/v1/batch', multipart(['no request']), multipartType),
    understand('/v1/batch', multipart(many.map(() => 'GET /v1/acme/users\r\n\r\n')), multipartType),
    understand('/v1/batch', 'no part at all', multipartType),
  ];
  for (const operation of unclear) t.strictSame(shown(operation), anything);
  t.equal(understand('/v1/$batch', { requests: many.slice(1) }).parts?.length, 100);
});

t.test('a batch in a batch is not taken apart', async (t) => {
  const { parts } = understand('/v1/$batch', {
    requests: [{ method: 'POST', url: '/$batch', body: { requests: [list] } }],
  });
  t.strictSame(
    parts?.map(({ operation }) => operation.name),
    ['batch'],
  );
});

t.test('of a call whose method may be another one, both are judged', async (t) => {
  const { name, parts } = catalogue.understand(
    requestOf('POST', `${url}/v1/acme/mail`, { 'x-http-method-override': 'DELETE' }, { to: 'ann@acme.com' }),
  );
  t.equal(name, 'send_email');
  t.strictSame(
    parts?.map((it) => [it.method, it.operation.name]),
    [
      [undefined, 'send_email'],
      ['DELETE', 'DELETE:/v1/acme/mail'],
    ],
  );
});

t.test('a batch to several places touches all of them', async (t) => {
  const shared = loadCatalogue(t.testdir({}), [
    {
      ...{ name: 'chat', title: 'Chat', hosts: ['chat.example'] },
      batch: { call: 'POST /batch', requests: '$.requests' },
      operations: { messages: { post: { verb: 'WRITE', call: 'POST /{channel}' } } },
    },
  ]);
  const touched = (...channels: string[]) => {
    const requests = channels.map((it) => ({ method: 'POST', url: `/${it}` }));
    const request = requestOf('POST', 'https://chat.example/batch', {}, { requests });
    return destinationOf(shared.understand(request), request.target);
  };
  t.equal(touched('b', 'a', 'b'), 'chat:#a + chat:#b');
  t.equal(touched('a', 'a'), 'chat:#a');
});
