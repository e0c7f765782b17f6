import { join } from 'node:path';
import t from 'tap';
import { destinationOf, loadCatalogue } from '../../src/catalogue/catalogue.ts';
import { overridingMethods } from '../../src/catalogue/overriding-method.ts';
import { overridingTargets } from '../../src/catalogue/overriding-target.ts';
import { parseTarget, targetWithin } from '../../src/core/target.ts';
import { requestOf } from './support.ts';

const dir = join(import.meta.dirname, '../../config/tools');
const catalogue = loadCatalogue(dir);
const issues = 'https://api.github.com/repos/acme/app/issues';

const understand = (method: string, url: string, body?: unknown, headers?: Record<string, string>) =>
  catalogue.understand(requestOf(method, url, headers, body));

t.test('a host that no tool has is custom_proxy, named by method', async (t) => {
  const cases = [
    { method: 'POST', url: 'https://api.example.com/v1/x', name: 'http_post', verb: 'WRITE' },
    { method: 'get', url: 'http://192.0.2.1/', name: 'http_get', verb: 'READ' },
    { method: 'HEAD', url: 'https://[2001:db8::1]/', name: 'http_head', verb: 'READ' },
    { method: 'OPTIONS', url: 'https://api.example.com/', name: 'http_options', verb: 'READ' },
    { method: 'PROPFIND', url: 'https://api.example.com/', name: 'http_propfind', verb: 'WRITE' },
    { method: '__proto__', url: 'https://api.example.com/', name: 'http_other', verb: 'WRITE' },
    { method: 'X'.repeat(5000), url: 'https://api.example.com/', name: 'http_other', verb: 'WRITE' },
    { method: 'GET', url: 'wss://stream.example.com/', name: 'http_get', verb: 'READ' },
  ];
  for (const { method, url, name, verb } of cases) {
    const want = { toolName: 'custom_proxy', name, category: 'http', verb, resource: {}, principals: [] };
    t.strictSame(understand(method, url), want, `${method.slice(0, 20)} ${url}`);
  }
});

t.test('a tool that is known by name is read behind any host', async (t) => {
  const relay = 'https://relay.example.com/x';
  const cases = [
    { tool: 'slack', below: '/chat.postMessage', method: 'POST', name: 'post_message', verb: 'WRITE' },
    { tool: 'slack', below: '/nothing', method: 'GET', name: 'GET:/x/nothing', verb: 'WRITE' },
    {
      tool: 'github',
      below: '/repos/acme/app/issues',
      method: 'POST',
      name: 'create_issue',
      repo: 'acme/app',
    },
    { tool: 'github', below: '', method: 'DELETE', name: 'DELETE:/x', verb: 'WRITE' },
    { tool: 'in-house', below: '/repos/acme/app', method: 'POST', name: 'http_post', verb: 'WRITE' },
    { tool: '__proto__', below: '', method: 'GET', name: 'http_get', verb: 'READ' },
  ];
  for (const { tool, below, method, name, repo, ...want } of cases) {
    const operation = catalogue.understandAs(tool, below, requestOf(method, relay + below));
    t.match(operation, { toolName: tool, name, ...want }, `${tool} ${below}`);
    t.equal(operation.resource.repo, repo);
  }
  const whole = requestOf('POST', 'https://relay.example.com/api/chat.delete');
  t.match(
    catalogue.understandAs('slack', '/chat.update', whole),
    { name: 'delete_message' },
    'the whole path first',
  );
  const overridden = requestOf('POST', `${relay}/repos/acme/app`, { 'X-HTTP-Method-Override': 'DELETE' });
  t.match(catalogue.understandAs('github', '/repos/acme/app', overridden), {
    name: 'delete_repo',
    verb: 'ADMIN',
  });
});

t.test('a scheme that is not of the web is named by itself, whatever its host', async (t) => {
  for (const scheme of ['exec', 'mcp', 'search', 'message']) {
    t.match(understand('POST', `${scheme}://api.github.com/repos/a/b`), {
      toolName: 'custom_proxy',
      name: scheme,
      category: 'other',
      verb: 'WRITE',
    });
  }
  t.equal(understand('POST', `${'a'.repeat(500)}://x/`).name.length, 32);
});

t.test('a name that only looks like a tool is none', async (t) => {
  const strangers = [
    'api.github.com.evil.com',
    'evilgithub.com',
    'xapi.github.com',
    'api.github.com.',
    'slack.com.evil.com',
    'notslack.com',
    'acme.github.io',
    'iam.amazonaws.com.evil.com',
    'ec2-192-0-2-1.compute-1.amazonaws.com',
    'ec2-192-0-2-1.us-west-2.compute.amazonaws.com',
    'abc.execute-api.us-east-1.amazonaws.com',
    'lb-1.us-east-1.elb.amazonaws.com',
    'bucket.s3-website-us-east-1.amazonaws.com',
    'bucket.s3-website.us-east-1.amazonaws.com',
    'x.lambda-url.us-east-1.on.aws',
    's3.evil.com',
    'amazonaws.com',
  ];
  for (const host of strangers) {
    const normal = host.replace(/\.$/, '');
    const isKnown = normal === 'api.github.com';
    t.equal(catalogue.toolOf(normal), isKnown ? 'github' : undefined, host);
    t.equal(understand('POST', `https://${host}/`).toolName, isKnown ? 'github' : 'custom_proxy', host);
  }
  t.equal(catalogue.toolOf('acme.enterprise.slack.com'), 'slack');
  t.equal(catalogue.toolOf('b.s3.eu-west-1.amazonaws.com'), 'aws');
  t.equal(catalogue.toolOf('__proto__'), undefined);
  t.equal(catalogue.toolOf('constructor'), undefined);
  t.equal(catalogue.toolOf(''), undefined);
});

t.test('a path is read segment by segment, however it is written', async (t) => {
  const cases = [
    { path: '/repos/acme/app/issues', name: 'create_issue', repo: 'acme/app' },
    { path: '//repos///acme/app/issues//', name: 'create_issue', repo: 'acme/app' },
    { path: '/repos/acme/%61pp/%69ssues', name: 'create_issue', repo: 'acme/app' },
    { path: '/repos/acme/x/../app/issues', name: 'create_issue', repo: 'acme/app' },
    { path: '/repos/acme/x/%2e%2e/app/issues', name: 'create_issue', repo: 'acme/app' },
    // An encoded slash is part of its segment, and never makes a name of two segments.
    { path: '/repos/acme/app%2fissues', name: 'POST:/repos/{org}/{repo}', repo: 'acme/app%2fissues' },
    { path: '/repos%2facme%2fapp%2fissues', name: 'POST:/{id}', repo: undefined },
    { path: '/repos/acme%2fother/app/issues', name: 'create_issue', repo: 'acme%2fother/app' },
    // Once decoded is decoded.
    { path: '/repos/acme/%2561pp/issues', name: 'create_issue', repo: 'acme/%61pp' },
    { path: '/repos/acme/app/%zz', name: 'POST:/repos/{org}/{repo}/{id}', repo: 'acme/app' },
    { path: '/repos/acme/%ff/issues', name: 'create_issue', repo: 'acme/%ff' },
    { path: '/Repos/acme/app/issues', name: 'POST:/Repos/acme/app/issues', repo: undefined },
    {
      path: '/repos/acme/app/issues/1/nothing-here',
      name: 'POST:/repos/{org}/{repo}/issues/{id}/nothing-here',
      repo: 'acme/app',
    },
  ];
  for (const { path, name, repo } of cases) {
    const target = targetWithin('https', 'api.github.com', 443, path);
    const operation = catalogue.understand({ ...requestOf('POST', issues), target });
    t.equal(operation.name, name, path);
    t.equal(operation.resource.repo, repo, `${path}: repo`);
  }
});

t.test('names of unknown paths hold no ids and are bounded', async (t) => {
  const cases = [
    ['/x/12345', '/x/{id}'],
    ['/x/7b1c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11/y', '/x/{id}/y'],
    ['/x/deadbeef', '/x/{id}'],
    ['/x/Ab3dEf6hIj9l', '/x/{id}'],
    ['/x/eve@example.net', '/x/{id}'],
    ['/x/v2/oauth2', '/x/v2/oauth2'],
    [`/x/${'a'.repeat(33)}`, '/x/{id}'],
    ['/', '/'],
  ];
  for (const [path, template] of cases) {
    t.equal(understand('DELETE', `https://slack.com${path}`).name, `DELETE:${template}`);
  }
  const long = understand('GET', `https://api.github.com${'/abcdefghij'.repeat(100)}`).name;
  t.equal(long.length, 'GET:'.length + 128);
});

t.test('whoever changes rights administers, also by a path that no table has', async (t) => {
  const verb = (method: string, path: string) => understand(method, `https://api.notion.com${path}`).verb;
  for (const path of ['/v9/pages/1/permissions', '/v9/invites', '/v9/teams/x/Roles/7', '/v9/acl'])
    t.equal(verb('POST', path), 'ADMIN', path);
  t.equal(verb('GET', '/v9/pages/1/permissions'), 'READ');
  t.equal(verb('POST', '/v9/pages/1/comments'), 'WRITE');
});

t.test('a hostile path is understood as unknown', async (t) => {
  const paths = [
    `/repos/acme/app/contents/${'a'.repeat(60_000)}`,
    '/a'.repeat(10_000),
    '/'.repeat(60_000),
    `/repos/acme/app/branches/${'x/'.repeat(900)}end`,
    `/${'%2f'.repeat(20_000)}`,
  ];
  for (const path of paths) {
    const operation = understand('POST', `https://api.github.com${path}`);
    t.equal(operation.toolName, 'github');
    t.ok(operation.name.length <= 140);
    t.equal(operation.verb, 'WRITE');
    for (const value of Object.values(operation.resource)) t.ok(String(value).length <= 1100);
  }
  t.equal(understand('POST', `https://api.github.com${'/a'.repeat(1025)}`).name, 'POST:/{path}');
  t.equal(
    understand('GET', `https://api.github.com/repos/acme/app/contents/${'a/'.repeat(1000)}`).name,
    'get_file',
  );
});

t.test('a method override never makes a call milder', async (t) => {
  const override = (value: string, method = 'GET') =>
    understand(method, issues.replace('/issues', ''), undefined, { 'X-HTTP-Method-Override': value });
  t.match(override('DELETE'), { name: 'delete_repo', verb: 'ADMIN' });
  t.match(override('GET', 'DELETE'), { name: 'delete_repo', verb: 'ADMIN' });
  t.match(override('get'), { name: 'get_repo', verb: 'READ' });
  const both = { 'X-HTTP-Method-Override': 'GET', 'X-Method-Override': 'DELETE' };
  t.match(understand('GET', issues.replace('/issues', ''), undefined, both), { name: 'delete_repo' });
  t.match(understand('GET', `${issues}?_method=post`), { name: 'create_issue', verb: 'WRITE' });
  t.match(understand('GET', 'https://api.example.com/?a=1&_method=DELETE'), {
    name: 'http_delete',
    verb: 'WRITE',
  });
  t.match(understand('GET', 'https://api.example.com/', undefined, { 'x-http-method': 'PUT' }), {
    name: 'http_put',
    verb: 'WRITE',
  });
});

const form = 'application/x-www-form-urlencoded';
const partOf = (name: string, value = 'DELETE') =>
  requestOf(
    'POST',
    issues,
    { 'content-type': 'multipart/form-data; boundary=b' },
    `--b\r\nContent-Disposition: form-data;${name}\r\n\r\n${value}\r\n--b--\r\n`,
  );
const naming = {
  'another spelling of the header': requestOf('POST', issues, { X_HTTP_Method_Override: 'DELETE' }),
  'a header with dots': requestOf('POST', issues, { 'X.Http.Method': 'DELETE' }),
  'the second of two in one header': requestOf('POST', issues, { 'X-Http-Method': 'PATCH, delete' }),
  'a second header behind a harmless one': requestOf('POST', issues, {
    'X-HTTP-Method-Override': 'PATCH',
    'X-Method-Override': 'DELETE',
  }),
  'an escaped name': requestOf('POST', `${issues}?%5fmethod=DELETE`),
  'an escaped value': requestOf('POST', `${issues}?_method=%44ELETE`),
  'a name behind a space': requestOf('POST', `${issues}?+_method=DELETE`),
  'a header with signs that servers take for others': requestOf('POST', issues, {
    'X~HTTP~Method~Override': 'DELETE',
  }),
  'a name that ends in NUL': requestOf('POST', `${issues}?_method%00=DELETE`),
  'a name with much behind NUL': requestOf('POST', `${issues}?_method%00${'a'.repeat(200)}=DELETE`),
  'a name behind many spaces': requestOf('POST', `${issues}?${'+'.repeat(200)}_method=DELETE`),
  'a form with NUL in a name': requestOf('POST', issues, { 'content-type': form }, '_method%00=DELETE'),
  'a parameter behind a semicolon': requestOf('POST', `${issues}?a=1;_method=DELETE`),
  'a parameter named like the header': requestOf('POST', `${issues}?x-http-method-override=DELETE`),
  'a form': requestOf('POST', issues, { 'content-type': form }, 'a=1&_method=DELETE'),
  'a form with an escaped name': requestOf('POST', issues, { 'content-type': form }, '%5Fmeth%6fd=DELETE'),
  JSON: requestOf('POST', issues, {}, { _method: 'DELETE' }),
  'JSON with escapes': requestOf(
    'POST',
    issues,
    { 'content-type': 'application/json' },
    '{"\\u005fmetho\\u0064":"delete"}',
  ),
  'a form of parts': requestOf(
    'POST',
    issues,
    { 'content-type': 'multipart/form-data; boundary=b' },
    '--b\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--b--\r\n',
  ),
  ...Object.fromEntries(
    [
      ' name="_me\\thod"',
      '\r\n NAME = "_me\\thod"',
      " name*=utf-8''_%6dethod",
      ' name*0="_me"; name*1="thod"',
      " filename=x; name *= utf-8''%5fmethod",
    ].map((name) => [`a part with ${name.trim()}`, partOf(name)]),
  ),
  'the header of a proxy': requestOf('POST', issues, { 'X-Forwarded-Method': 'DELETE' }),
  'the header of a proxy in another spelling': requestOf('POST', issues, { x_original_method: 'DELETE' }),
};

for (const [name, request] of Object.entries(naming)) {
  t.test(`${name} names a method`, async (t) => {
    t.ok(overridingMethods(request).includes('DELETE'), overridingMethods(request).join());
  });
}

t.test('what only looks so names no method', async (t) => {
  const cases = [
    requestOf('POST', `${issues}?method=DELETE&my_method=DELETE&x=_method&$method=DELETE&a%00_method=DELETE`),
    requestOf('POST', issues, {}, { nested: { _method: 'DELETE' }, list: ['_method'], _method: 1 }),
    requestOf('PUT', issues, {}, { _method: 'DELETE' }),
    requestOf('PUT', issues, { 'content-type': form }, '_method=DELETE'),
    requestOf('POST', issues, { 'X-Method': 'DELETE', 'X-HTTP-Method-Override': 'post' }),
    requestOf('POST', issues, { 'X-Forwarded-Method': 'POST' }),
    partOf(' name="a"; filename="C:\\method\\b.txt"'),
    partOf(' name="a"; filename="a\\"b"; filename*=utf-8\'\'_%6dethod'),
    partOf(' name="a"', 'char *s; name *p = "a\\n";'),
  ];
  for (const request of cases) t.same(overridingMethods(request), []);
  const torn = requestOf('POST', issues, {}, '{"_method":');
  t.ok(overridingMethods(torn).includes('DELETE'), 'of what cannot be read any may be meant');
});

t.test('a hidden name behind a long file may be any method', async (t) => {
  const file = `;name="f"\r\n\r\n${'x'.repeat(1_100_000)}\r\n--b\r\nContent-Disposition: form-data`;
  const long = (name: string) => {
    const request = partOf(`${file};${name}`);
    return overridingMethods({ ...request, bodyText: () => request.bodyText()?.slice(0, 1_048_576) });
  };
  for (const name of [' name="_me\\thod"', "name*=utf-8''_%6dethod"])
    t.ok(long(name).includes('DELETE'), name);
  t.same(long(' name="b"; filename="a\\b"'), []);
});

t.test('a call may name eight methods beside its own and no more', async (t) => {
  const of = (count: number) =>
    requestOf('POST', issues, {
      'X-HTTP-Method': Array.from({ length: count }, (_, i) => `M${'ABCDEFGHI'.charAt(i)}`).join(),
    });
  t.equal(overridingMethods(of(8)).length, 8);
  t.throws(() => overridingMethods(of(9)), { code: 'VALIDATION_FAILED' });
});

const gmail = 'https://gmail.googleapis.com/gmail/v1/users/me';
const mailTo = (to: string): string => Buffer.from(`To: ${to}\r\n\r\nhi`).toString('base64url');

t.test('a mail that is described in short tells whom it goes to', async (t) => {
  const ways: Record<string, string> = {
    gmail: `POST ${gmail}/messages/send`,
    'gmail, a draft': `POST ${gmail}/drafts`,
    'gmail, a changed draft': `PUT ${gmail}/drafts/r1`,
    outlook: 'POST https://graph.microsoft.com/v1.0/me/sendMail',
    'outlook, a draft': 'POST https://graph.microsoft.com/v1.0/me/messages',
    sendgrid: 'POST https://api.sendgrid.com/v3/mail/send',
    mailgun: 'POST https://api.mailgun.net/v3/mg.acme.com/messages',
    postmark: 'POST https://api.postmarkapp.com/email',
    SES: 'POST https://email.us-east-1.amazonaws.com/v2/email/outbound-emails',
    cloudflare: 'POST https://api.cloudflare.com/client/v4/accounts/a1/email/sending/send',
    hubspot: 'POST https://api.hubapi.com/marketing/v4/email/single-send',
    salesforce: 'POST https://acme.my.salesforce.com/services/data/v62.0/actions/standard/emailSimple',
  };
  const bodies: [body: object, principals: string[]][] = [
    [{ to: 'eve@example.net', subject: 'hi', body: 'x' }, ['eve@example.net']],
    [{ To: 'Eve <eve@example.net>, bob@acme.com' }, ['eve@example.net', 'bob@acme.com']],
    [
      { to: ['bob@acme.com'], cc: 'ann@acme.com', bcc: ['eve@example.net'] },
      ['bob@acme.com', 'ann@acme.com', 'eve@example.net'],
    ],
    [{ recipients: [{ email: 'eve@example.net', name: 'Eve' }] }, ['eve@example.net']],
    [
      { recipients: { to: ['bob@acme.com'], bcc: [{ emailAddress: { address: 'eve@example.net' } }] } },
      ['bob@acme.com', 'eve@example.net'],
    ],
    [{ message: { to: 'eve@example.net', subject: 'to: ann@acme.com' } }, ['eve@example.net']],
  ];
  for (const [tool, call] of Object.entries(ways))
    for (const [body, principals] of bodies) {
      const [method = '', url = ''] = call.split(' ');
      const found = understand(method, url, body).principals.filter((it) => it !== '*');
      t.same([...found].sort(), [...principals].sort(), `${tool}: ${JSON.stringify(body)}`);
    }
  const send = (body: object, url = `${gmail}/messages/send`) => understand('POST', url, body).principals;
  t.strictSame(send({ to: 'ann@acme.com' }), ['ann@acme.com'], 'and nobody else');
  t.strictSame(send({ subject: 'to nobody' }), ['*']);
  t.strictSame(send({ to: { name: 'Ann' } }), ['*']);
  t.strictSame(send({ raw: mailTo('eve@example.net'), to: 'ann@acme.com' }), [
    'eve@example.net',
    'ann@acme.com',
  ]);
  t.equal(send({ to: Array.from({ length: 1500 }, (_, at) => `u${at}@acme.com`) }).at(-1), '*');
});

t.test('what is said beside a mail hides nobody whom the mail may go to', async (t) => {
  const hidden: [url: string, body: object][] = [
    [`${gmail}/messages/send`, { raw: 'not a message', to: 'ann@acme.com' }],
    [`${gmail}/messages/send`, { raw: null, to: 'ann@acme.com' }],
    [`${gmail}/drafts/send`, { id: 'r1', to: 'ann@acme.com' }],
    [
      'https://graph.microsoft.com/v1.0/me/sendMail',
      { message: { toRecipients: 'odd' }, to: 'ann@acme.com' },
    ],
    ['https://graph.microsoft.com/v1.0/me/messages/AA/send', { to: 'ann@acme.com' }],
    ['https://graph.microsoft.com/v1.0/me/messages/AA/replyAll', { comment: 'hi', to: 'ann@acme.com' }],
  ];
  for (const [url, body] of hidden)
    t.ok(understand('POST', url, body).principals.includes('*'), `${url} ${JSON.stringify(body)}`);
});

t.test('a path in a header never makes a call milder', async (t) => {
  const user = 'https://api.github.com/user';
  for (const name of ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Uri']) {
    const { parts, ...operation } = understand('DELETE', user, undefined, { [name]: '/repos/acme/app' });
    t.match(operation, { name: 'delete_repo', verb: 'ADMIN' }, name);
    t.match(parts?.at(1), { target: { href: 'https://api.github.com/repos/acme/app' } });
  }
  const repo = 'https://api.github.com/repos/acme/app';
  t.match(understand('DELETE', repo, undefined, { 'X-Original-URL': '/user' }), { name: 'delete_repo' });
  t.equal(understand('GET', repo, undefined, { 'X-Original-URL': '/repos/acme/app' }).parts, undefined);
});

t.test('a header names the URLs that servers may make of it', async (t) => {
  const url = 'https://site.example:8443/open/x?a=1';
  const site = 'https://site.example:8443';
  const rows: [headers: Record<string, string>, urls: string[]][] = [
    [{}, []],
    [{ 'X-Original-URL': '' }, []],
    [{ 'X-Original-URL': '/open/x?a=1' }, []],
    [{ 'X-Original-URL': '/b' }, [`${site}/b`, `${site}/b?a=1`]],
    [{ 'X-Original-URL': '/b?c=2' }, [`${site}/b?c=2`]],
    [{ 'X-Rewrite-URL': 'http://elsewhere.example/b?c=2' }, [`${site}/b?c=2`]],
    [{ 'X-Forwarded-Prefix': '/p/' }, [`${site}/p/open/x?a=1`]],
    [{ 'X-Forwarded-Prefix': '/open' }, [`${site}/open/open/x?a=1`, `${site}/x?a=1`]],
    [{ 'X-Forwarded-Prefix': '/' }, []],
    [{ 'X-Forwarded-Host': 'site.example' }, []],
    [{ 'X-Forwarded-Host': 'SITE.example:8443' }, []],
    [
      { 'X-Forwarded-Host': 'b.example, c.example:99' },
      ['https://b.example/open/x?a=1', 'https://c.example:99/open/x?a=1'],
    ],
    [{ Forwarded: 'for=192.0.2.1, for=192.0.2.2;host=b.example' }, ['https://b.example/open/x?a=1']],
    [
      { Forwarded: 'for="a;host=c.example"; Host = " b.example"' },
      ['https://c.example/open/x?a=1', 'https://b.example/open/x?a=1'],
    ],
    [{ Forwarded: 'for=192.0.2.1;proto=https;by=myhost' }, []],
    [{ 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Port': '443' }, []],
  ];
  for (const [headers, urls] of rows) {
    const found = overridingTargets(requestOf('GET', url, headers)).map(({ href }) => href);
    t.same(found, urls, JSON.stringify(headers));
  }
  const many = Array.from({ length: 60_000 }, (_, i) => `h${i}.example`).join();
  t.throws(() => overridingTargets(requestOf('GET', url, { 'X-Forwarded-Host': many })), {
    code: 'VALIDATION_FAILED',
  });
  t.same(overridingTargets(requestOf('GET', 'mcp://server/x', { 'X-Original-URL': '/b' })), []);
  t.throws(() => overridingTargets(requestOf('GET', url, { X_Rewrite_URL: '/a/../b' })), {
    code: 'VALIDATION_FAILED',
    message: /^The field x-rewrite-url must be plain/,
  });
});

t.test('a hostile body changes no more than what it names', async (t) => {
  const post = 'https://slack.com/api/chat.postMessage';
  const json = { 'content-type': 'application/json' };
  const bodies = [
    '{"__proto__":{"channel":"#x"},"constructor":{"channel":"#y"}}',
    '{"channel":{"channel":"#x"}}',
    '{"channel":null}',
    `${'['.repeat(100_000)}`,
    '{"channel":',
    '&'.repeat(100_000),
    '=&=&=',
    '\u0000\u0001',
  ];
  for (const body of bodies) {
    t.match(understand('POST', post, body, json), { name: 'post_message', resource: {} }, body.slice(0, 40));
    t.equal(understand('POST', post, body, json).resource.channel, undefined);
  }
  const long = understand('POST', post, { channel: 'x'.repeat(100_000) });
  t.equal(long.resource.channel?.length, 512);
  const odd = { 'content-type': 'multipart/form-data' };
  t.equal(understand('POST', post, '--x\r\n', odd).name, 'post_message', 'multipart without a boundary');
});

t.test('of several actions the strictest counts, and a flood of them is ADMIN', async (t) => {
  const act = (actions: readonly string[]) =>
    understand(
      'POST',
      'https://ec2.us-east-1.amazonaws.com/',
      actions.map((name) => `Action=${name}`).join('&'),
    );
  t.match(act(['DescribeInstances']), { name: 'describe_instances', verb: 'READ' });
  t.match(act(['DescribeInstances', 'RunInstances']), { name: 'run_instances', verb: 'WRITE' });
  t.match(act(['RunInstances', 'ModifySnapshotAttribute']), { verb: 'ADMIN' });
  t.match(act(Array.from({ length: 17 }, (_, index) => `Get${index}`)), {
    name: 'many_actions',
    verb: 'ADMIN',
  });
  t.match(act(['constructor']), { name: 'constructor', verb: 'WRITE' });
  t.match(act(['__proto__']), { name: 'unclear', verb: 'ADMIN' });
  t.match(act(['Get Thing', 'DescribeInstances']), { name: 'unclear', verb: 'ADMIN' });
  t.match(act([]), { name: 'POST:/', category: 'other' });
});

t.test(
  'accounts are told of each table in a batch, and of more than are looked at nobody knows',
  async (t) => {
    const arn = (at: number) =>
      `arn:aws:dynamodb:eu-west-1:${at % 2 === 0 ? '111111111111' : '999999999999'}:table/t${at}`;
    const batch = (count: number) => {
      const tables = Array.from({ length: count }, (_, at) => [arn(at), []]);
      const headers = {
        'x-amz-target': 'DynamoDB_20120810.BatchWriteItem',
        'content-type': 'application/x-amz-json-1.0',
      };
      const url = 'https://dynamodb.eu-west-1.amazonaws.com/';
      return understand('POST', url, JSON.stringify({ RequestItems: Object.fromEntries(tables) }), headers)
        .resource;
    };
    t.equal(batch(2).account, '111111111111,999999999999');
    t.equal(batch(2).unknown, undefined);
    t.ok(batch(1001).unknown?.includes('account'));
  },
);

t.test('the body is not asked for where the operation does not depend on it', async (t) => {
  const untouched = {
    bodyText: () => t.fail('read the body') as never,
    bodyValue: () => t.fail('parsed the body') as never,
  };
  const calls = [
    ['POST', issues],
    ['POST', 'https://api.example.com/x'],
    ['PUT', 'https://b.s3.us-east-1.amazonaws.com/k'],
  ] as const;
  for (const [method, url] of calls) catalogue.understand({ ...requestOf(method, url), ...untouched });
  t.pass('three calls understood');
});

t.test('tags keep names that objects have of themselves', async (t) => {
  const url = 'https://b.s3.us-east-1.amazonaws.com/k';
  const { resource } = understand('PUT', url, 'x', { 'x-amz-tagging': '__proto__=a&env=prod' });
  t.strictSame(Object.entries(resource.tags ?? {}), [
    ['__proto__', ['a']],
    ['env', ['prod']],
  ]);
  const many = Array.from({ length: 1001 }, (_, index) => `t${index}=v`).join('&');
  const bounded = understand('PUT', url, 'x', { 'x-amz-tagging': many });
  t.equal(Object.keys(bounded.resource.tags ?? {}).length, 1000);
  t.strictSame(bounded.resource.unknown, ['tags'], 'what else it is tagged with nobody knows');
});

t.test('operations that strangers can read the results of say so', (t) => {
  const isPublic = (method: string, url: string) => understand(method, url, {}).isPublic === true;
  t.ok(isPublic('POST', 'https://api.github.com/gists'));
  t.ok(isPublic('PATCH', 'https://api.github.com/gists/1'));
  t.ok(isPublic('PUT', 'https://registry.npmjs.org/@acme%2fapp'));
  t.ok(isPublic('POST', 'https://upload.pypi.org/legacy/'));
  t.notOk(isPublic('GET', 'https://api.github.com/gists/1'));
  t.notOk(isPublic('POST', issues));
  t.end();
});

t.test('a crowd of principals does not hide a stranger', async (t) => {
  const emails = Array.from({ length: 1500 }, (_, index) => `u${index}@acme.com`);
  const { principals } = understand('POST', 'https://slack.com/api/conversations.inviteShared', { emails });
  t.equal(principals.length, 1001);
  t.equal(principals.at(-1), '*');
});

t.test('principals of policy documents are accounts, providers and everybody, not services', async (t) => {
  const statement = {
    Effect: 'Allow',
    Principal: {
      AWS: ['arn:aws:iam::999999999999:role/x', '888888888888'],
      Service: 'ec2.amazonaws.com',
      Federated: 'arn:aws:iam::123456789012:oidc-provider/token.example.com',
    },
  };
  const cases = [
    {
      document: JSON.stringify({ Statement: [statement] }),
      want: ['999999999999', '888888888888', 'arn:aws:iam::123456789012:oidc-provider/token.example.com'],
    },
    { document: JSON.stringify({ Statement: { Effect: 'Allow', NotPrincipal: { AWS: '1' } } }), want: ['*'] },
    { document: JSON.stringify({ Statement: { ...statement, Effect: 'Deny' } }), want: [] },
    { document: '{"Statement":', want: ['*'] },
    { document: 'null', want: [] },
  ];
  for (const { document, want } of cases) {
    const body = `Action=CreateRole&AssumeRolePolicyDocument=${encodeURIComponent(document)}`;
    t.strictSame(understand('POST', 'https://iam.amazonaws.com/', body).principals, want, document);
  }
});

t.test('additions bring hosts and operations to a tool, and tools of their own', async (t) => {
  const extended = loadCatalogue(dir, [
    { name: 'aws', title: 'AWS', hosts: ['s3.acme.com'] },
    { name: 'github', title: 'Ours', hosts: ['git.acme.com'] },
    {
      name: 'slack',
      title: 'Slack',
      hosts: ['slack.acme.com'],
      base_paths: ['/api'],
      operations: { messages: { shout: { verb: 'ADMIN', call: 'POST /chat.postMessage' } } },
    },
    {
      name: 'drive',
      title: 'Drive',
      hosts: ['www.storage.example/drive'],
      base_paths: ['/v3'],
      operations: {
        files: {
          list_files: { verb: 'READ', call: 'GET /files' },
          embed: { verb: 'READ', call: 'POST /files/{id}:embed' },
        },
      },
    },
  ]);
  const at = (method: string, url: string) => extended.understand(requestOf(method, url));
  t.match(at('POST', 'https://git.acme.com/api/v3/repos/acme/app/issues'), {
    toolName: 'github',
    name: 'create_issue',
    resource: { repo: 'acme/app' },
  });
  t.match(at('POST', 'https://slack.acme.com/api/chat.postMessage'), { name: 'shout', verb: 'ADMIN' });
  t.match(at('POST', 'https://slack.com/api/chat.postMessage'), { name: 'shout' }, 'at the known hosts, too');
  t.match(at('GET', 'https://slack.acme.com/api/conversations.unheardOf'), {
    toolName: 'slack',
    verb: 'WRITE',
  });
  t.match(at('GET', 'https://www.storage.example/drive/v3/files'), { toolName: 'drive', name: 'list_files' });
  t.match(at('POST', 'https://www.storage.example/drive/v3/files/7:embed'), { name: 'embed' });
  t.match(at('POST', 'https://www.storage.example/drive/v3/files/:embed'), {
    name: 'POST:/drive/v3/files/{id}',
  });
  t.match(at('GET', 'https://www.storage.example/mail/v3/files'), { toolName: 'custom_proxy' });
  t.equal(extended.toolOf('git.acme.com'), 'github');
  const tagged = requestOf(
    'PUT',
    'https://b.s3.us-east-1.amazonaws.com/k',
    { 'x-amz-tagging': 'env=prod' },
    'x',
  );
  t.strictSame(extended.understand(tagged).resource.tags, { env: ['prod'] }, 'and take nothing away');
});

t.test('tools that share a host each have their operations, and one of them the rest', async (t) => {
  const suite = {
    name: 'suite',
    title: 'Suite',
    hosts: ['api.suite.example'],
    operations: { users: { list_users: { verb: 'READ', call: 'GET /users' } } },
  };
  const mail = {
    name: 'suite_mail',
    title: 'Suite Mail',
    hosts: ['api.suite.example'],
    guest_of: 'suite',
    operations: {
      mail: {
        send_email: {
          verb: 'WRITE',
          call: 'POST /messages',
          extract: { principals: 'mime:json:$.raw' },
        },
      },
    },
  };
  const catalogue = loadCatalogue(t.testdir({}), [mail, suite]);
  const raw = Buffer.from('To: "Doe, Ann" <ann@acme.com>, eve@example.net\n\nHello').toString('base64url');
  const at = (method: string, path: string, body?: unknown) => {
    const { toolName, name, principals } = catalogue.understand(
      requestOf(method, `https://api.suite.example${path}`, {}, body),
    );
    return { toolName, name, principals };
  };
  t.strictSame(at('GET', '/users'), { toolName: 'suite', name: 'list_users', principals: [] });
  t.strictSame(at('POST', '/messages', { raw }), {
    toolName: 'suite_mail',
    name: 'send_email',
    principals: ['ann@acme.com', 'eve@example.net'],
  });
  t.strictSame(at('GET', '/messages'), { toolName: 'suite', name: 'GET:/messages', principals: [] });
  t.equal(catalogue.toolOf('api.suite.example'), 'suite');
});

const lenient = {
  name: 'lenient',
  title: 'Lenient',
  hosts: ['api.lenient.example'],
  base_paths: ['/Bot{token}'],
  ignore_case: true,
  operations: {
    messages: {
      send_message: { verb: 'WRITE', call: 'POST /sendMessage', extract: { channel: 'json:$.chat' } },
      send_to_list: {
        verb: 'WRITE',
        call: 'POST /sendToList',
        extract: { principals: 'json:$.to', unknown: ['principals'] },
      },
      send_invoice: { verb: 'WRITE', call: 'POST /invoices/{id}/send', extract: { unknown: ['principals'] } },
    },
    links: { share_file: { verb: 'ADMIN', call: 'PUT /files/{id}', when: { 'json:$.shared_link': true } } },
    files: { update_file: { verb: 'WRITE', call: 'PUT /files/{id}' } },
  },
};

t.test(
  'tables may say that paths have any case, that somebody is addressed, and that a field is there',
  async (t) => {
    const catalogue = loadCatalogue(t.testdir({}), [lenient]);
    const at = (method: string, path: string, body?: unknown) => {
      const { name, principals, resource } = catalogue.understand(
        requestOf(method, `https://api.lenient.example${path}`, {}, body),
      );
      return { name, principals, resource };
    };
    for (const path of ['/bot1:Ab/sendMessage', '/BOT1:Ab/SENDMESSAGE', '/bot1:Ab/sendmessage'])
      t.strictSame(at('POST', path, { chat: 'C1' }), {
        name: 'send_message',
        principals: [],
        resource: { channel: 'C1' },
      });
    t.strictSame(at('POST', '/bot1/sendToList', { to: 'ann@acme.com' }).principals, ['ann@acme.com']);
    t.strictSame(at('POST', '/bot1/sendToList', {}).principals, ['*']);
    t.strictSame(at('POST', '/bot1/invoices/A7/send').principals, ['*']);
    for (const shared_link of [{}, [], null, 'x', { access: 'open' }])
      t.equal(at('PUT', '/bot1/files/7', { shared_link }).name, 'share_file', JSON.stringify(shared_link));
    t.equal(at('PUT', '/bot1/files/7', { name: 'x' }).name, 'update_file');
  },
);

t.test('a destination is the resource where there is one, else the host', async (t) => {
  const cases = [
    ['POST', issues, undefined, 'github:acme/app'],
    ['GET', 'https://api.github.com/user', undefined, 'host:api.github.com'],
    ['POST', 'https://slack.com/api/chat.postMessage', { channel: 'general' }, 'slack:#general'],
    ['POST', 'https://slack.com/api/chat.postMessage', { channel: '#general' }, 'slack:#general'],
    ['PUT', 'https://acme-logs.s3.us-east-1.amazonaws.com/k', undefined, 'aws:acme-logs'],
    ['POST', 'https://api.example.com:8443/x', undefined, 'host:api.example.com'],
    ['POST', 'mcp://search/tool', undefined, 'mcp:search'],
    ['POST', 'exec:///bin/true', undefined, 'exec:'],
  ] as const;
  for (const [method, url, body, want] of cases) {
    t.equal(destinationOf(understand(method, url, body), parseTarget(url)), want, url);
  }
});

t.test('tools list their operations', async (t) => {
  const github = catalogue.tools.find(({ name }) => name === 'github');
  t.ok(github?.operations.some(({ name, verb }) => name === 'merge_pr' && verb === 'WRITE'));
  t.ok((github?.operations.length ?? 0) > 150);
});

t.test('tools say what else may be told of their calls', async (t) => {
  const rows: [name: string, takesOtherNames: boolean, categories: string | undefined, fields: string[]][] = [
    // Any service of AWS is a category.
    ['aws', true, undefined, ['region', 'account', 'bucket', 'tags', 'principals']],
    ['github', true, 'graphql', ['org', 'repo', 'principals']],
    ['openai', false, 'inference', ['org', 'account', 'principals']],
    ['slack', false, 'messages', ['channel', 'account', 'principals']],
  ];
  for (const [name, takesOtherNames, category, fields] of rows) {
    const tool = catalogue.tools.find((it) => it.name === name);
    t.match(tool, { takesOtherNames, fields }, name);
    t.equal(tool?.takesOtherCategories, category === undefined, name);
    if (category !== undefined)
      t.ok(
        ['other', category].every((it) => tool?.categories?.includes(it)),
        name,
      );
  }
});

t.test(
  'of a body that vendors may read differently the strictest counts, and nothing is known',
  async (t) => {
    const graphql = 'https://api.github.com/graphql';
    const json = { 'content-type': 'application/json' };
    const twice = '{"query":"mutation { deleteRef(input: {}) { id } }","query":"{ viewer { login } }"}';
    t.match(understand('POST', graphql, twice, json), {
      name: 'graphql',
      verb: 'ADMIN',
      unclear: { toolNames: [], anyMethod: false },
    });
    t.match(understand('POST', graphql, { query: '{ viewer { login } }' }), {
      verb: 'READ',
      resource: { unknown: ['org', 'repo'] },
    });
    const post = 'https://slack.com/api/chat.postMessage';
    const channels = understand('POST', post, '{"channel":"#secret","channel":"#general"}', json);
    t.strictSame(channels.resource.unknown, ['channel', 'account']);
    const padded = understand('POST', post, `channel=%23a&x=${'x'.repeat(1_100_000)}`);
    t.strictSame(padded.resource.unknown, ['channel', 'account'], 'a form that is not read to its end');
    const parts = { 'content-type': 'multipart/form-data; boundary=B' };
    const open = '--B\r\nContent-Disposition: form-data; name="channel"\r\n\r\n#a';
    t.strictSame(understand('POST', post, open, parts).resource.unknown, ['channel', 'account']);
    const spaced = `${' '.repeat(100_000)}{"channel":"#secret"}`;
    const request = requestOf('POST', post, json, spaced);
    const head = { ...request, bodyText: () => spaced.slice(0, 65_536) };
    t.equal(
      catalogue.understand(head).resource.channel,
      '#secret',
      'JSON behind all that is read of the text',
    );
    const invited = understand(
      'POST',
      'https://slack.com/api/conversations.inviteShared',
      '{"emails":[',
      json,
    );
    t.strictSame(invited.principals, ['*'], 'nobody knows who is invited');
    const batch = 'https://github.com/acme/app.git/info/lfs/objects/batch';
    t.equal(understand('POST', batch, { operation: 'download' }).verb, 'READ');
    t.equal(understand('POST', batch, '{"operation":"upload","operation":"download"}', json).verb, 'WRITE');
  },
);

t.test('a repository by its number is anybody’s', async (t) => {
  t.strictSame(understand('POST', 'https://api.github.com/repositories/4711/issues').resource, {
    repo: '4711',
    unknown: ['org', 'repo'],
  });
  t.equal(understand('POST', issues).resource.unknown, undefined);
});

t.test('the fields of a form are found where those of JSON are', async (t) => {
  const users = 'https://acme.zendesk.com/api/v2/users';
  const body = 'user[email]=eve@example.net&user[role]=admin';
  const { principals } = catalogue.understand(requestOf('POST', users, {}, body));
  t.same(principals, ['eve@example.net']);
  const parts = ['user[email]', 'eve@example.net'];
  const multipart = `--b\r\nContent-Disposition: form-data; name="${parts[0]}"\r\n\r\n${parts[1]}\r\n--b--\r\n`;
  const type = { 'content-type': 'multipart/form-data; boundary=b' };
  t.same(catalogue.understand(requestOf('POST', users, type, multipart)).principals, ['eve@example.net']);
  const invoice = 'https://acme.myshopify.com/admin/api/2026-01/draft_orders/450/send_invoice.json';
  const listed = 'draft_order_invoice[to]=eve@example.net&draft_order_invoice[bcc][]=bob@acme.com';
  t.same(catalogue.understand(requestOf('POST', invoice, {}, listed)).principals, [
    'eve@example.net',
    'bob@acme.com',
  ]);
  const reply = requestOf(
    'PUT',
    'https://acme.zendesk.com/api/v2/tickets/35',
    {},
    'ticket[comment][body]=hello',
  );
  t.equal(catalogue.understand(reply).name, 'reply_to_ticket', 'conditions, too');
});

t.test('names of fields are found in any case', async (t) => {
  const body = { User: { EMAIL: 'eve@example.net' } };
  const { principals } = catalogue.understand(
    requestOf('POST', 'https://acme.zendesk.com/api/v2/users', {}, body),
  );
  t.same(principals, ['eve@example.net']);
});

t.test('a path in another case may be the operation that it is in its own', async (t) => {
  const { name, parts } = catalogue.understand(requestOf('POST', 'https://api.stripe.com/V1/Payouts'));
  t.equal(name, 'POST:/V1/Payouts');
  t.same(
    parts?.map(({ operation }) => operation.name),
    ['POST:/V1/Payouts', 'create_payout'],
  );
  const unlike = catalogue.understand(requestOf('POST', 'https://api.stripe.com/V1/Payoutz'));
  t.equal(unlike.parts, undefined);
});

t.test('a name with an encoded slash is read with its other escapes', async (t) => {
  for (const path of ['acme%2Fap%70', '%61cme%2fapp', 'acme%252Fapp']) {
    const { resource } = catalogue.understand(
      requestOf('DELETE', `https://gitlab.com/api/v4/projects/${path}`),
    );
    t.match(resource, { org: 'acme', repo: 'acme/app' }, path);
  }
  const { parts } = catalogue.understand(
    requestOf('PUT', 'https://gitlab.com/api/v4/projects/acme%2Fapp/merge_requests/7/merge;x=1'),
  );
  t.ok(
    parts?.some(({ operation }) => operation.name === 'merge_mr'),
    'beside parameters of a segment',
  );
});

t.test('Google takes a method, and header fields, from the query', async (t) => {
  const message = 'https://gmail.googleapis.com/gmail/v1/users/me/messages/1';
  const header = encodeURIComponent('X-Goog-Api-Key: x\r\nX-HTTP-Method-Override: DELETE\r\n');
  for (const query of ['$httpMethod=DELETE', '%24HTTPMETHOD=delete', `$httpHeaders=${header}`]) {
    const { parts } = catalogue.understand(requestOf('POST', `${message}?${query}`));
    t.ok(
      parts?.some(({ operation }) => operation.name === 'delete_message'),
      query,
    );
  }
});

t.test('a GraphQL document in the query of a GET is read as one in a body', async (t) => {
  const at = (query: string) =>
    catalogue.understand(requestOf('GET', `https://gitlab.com/api/graphql${query}`));
  const document = encodeURIComponent('mutation { projectDelete(input: {}) { errors } }');
  t.match(at(`?query=${document}`), { name: 'project_delete', verb: 'WRITE' });
  t.match(at(`?query=${encodeURIComponent('{ currentUser { id } }')}`), {
    name: 'get_current_user',
    verb: 'READ',
  });
  t.match(at('?query=%7B'), { unclear: {} }, 'what cannot be read may be any');
  t.match(at(''), { name: 'GET:/api/graphql', verb: 'READ' });
});
