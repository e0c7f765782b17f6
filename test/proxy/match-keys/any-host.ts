import { among, type Group, json, rawJson, text, withHeader } from './group.ts';

/* What is told by its messages and not by its host, and hosts that no tool has. */

const at = 'https://tools.partner.example';
const server = 'POST /mcp';
const rpc = (method: string, params: unknown = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const bad = rpc('tools/call', { name: 'delete_repo', arguments: {} });
const escaped = JSON.stringify(bad).replace('jsonrpc', 'js\\u006fnrpc').replace('delete', 'd\\u0065lete');

const site = 'https://site.partner.example';

export const anyHost: readonly Group[] = [
  {
    is: 'url_patterns, and fields that name another URL',
    at: site,
    match: { url_patterns: [`${site}/admin`, 'https://admin.partner.example/'] },
    holds: [
      ...['X-Original-URL', 'X-Rewrite-URL', 'X-Original-URI', 'X-Forwarded-Uri', 'X-Forwarded-Path'].map(
        (name) => [name, 'GET /open', withHeader(name, '/admin/users')] as const,
      ),
      ['another spelling', 'GET /open', withHeader('x_original_url', '/admin/users')],
      ['signs that servers take for others', 'GET /open', withHeader('X~Original~URL', '/admin/users')],
      ['a whole URL', 'GET /open', withHeader('X-Rewrite-URL', `${site}/admin/users`)],
      ['dots and escapes', 'GET /open', withHeader('X-Original-URL', '/x/..%2f%61dmin')],
      ['no slash', 'GET /open', withHeader('X-Original-URL', 'admin/users')],
      ['the second of a list', 'GET /open', withHeader('X-Forwarded-Uri', '/open, /admin')],
      ['a prefix', 'GET /users', withHeader('X-Forwarded-Prefix', '/admin')],
      ['a prefix that is taken off', 'GET /open/admin/users', withHeader('X-Script-Name', '/open')],
      ['one in escapes', 'GET /open/admin/users', withHeader('X-Script-Name', '/%6fpen')],
      ['one before a path in escapes', 'GET /%6fpen/admin/users', withHeader('X-Script-Name', '/open')],
      ['one of a sign in escapes', 'GET /a%2bb/admin/users', withHeader('X-Script-Name', '/a+b')],
      ['one of a slash in escapes', 'GET /a%2fb/admin/users', withHeader('X-Script-Name', '/a/b')],
      ['one in escapes of escapes', 'GET /%256fpen/admin/users', withHeader('X-Script-Name', '/open')],
      [
        'a prefix before a path',
        'GET /open',
        { headers: { 'x-original-url': '/users', 'x-forwarded-prefix': '/admin' } },
      ],
      ['a host', 'GET /open', withHeader('X-Forwarded-Host', 'admin.partner.example')],
      [
        'a host of Forwarded',
        'GET /open',
        withHeader('Forwarded', 'for=192.0.2.1;proto=https;Host="admin.partner.example"'),
      ],
    ],
    passes: [
      ['the same path', 'GET /open?a=1', withHeader('X-Original-URL', '/open?a=1')],
      ['another path', 'GET /open', withHeader('X-Original-URL', '/open/admin')],
      [
        'where a proxy of ours has come by',
        'GET /open',
        {
          headers: {
            'x-forwarded-host': 'site.partner.example',
            'x-forwarded-uri': '/open?next=https://a.example/../b,c',
            'x-forwarded-prefix': '/api',
            'x-forwarded-path': '/open',
            'x-original-url': `${site}/open`,
            forwarded: 'for=192.0.2.1;host=site.partner.example;proto=https',
          },
        },
      ],
      ['a field that only looks so', 'GET /open', withHeader('X-Original-Url-Of-Mine', '/admin')],
    ],
    stops: [
      [
        'more URLs than are judged',
        'GET /open',
        withHeader('X-Original-URL', Array.from({ length: 40 }, (_, i) => `/${i}`).join()),
      ],
      ['a host that is none', 'GET /open', withHeader('X-Forwarded-Host', 'a b')],
      ...['admin.partner.example, x=y', 'x=y, admin.partner.example'].map(
        (hosts) => ['a host and none', 'GET /open', withHeader('X-Forwarded-Host', hosts)] as const,
      ),
      ...[
        ...[
          '/admin/users/delete/../../../x',
          '/admin/x/%2e%2E/..',
          '/admin/..;/x',
          '/admin/.',
          '/open, /admin/..',
        ],
        ...[
          '_://x/admin',
          'x:admin',
          'http://h?/admin',
          'http://h#/admin',
          'http:///admin',
          'http://a@h/admin',
        ],
        ...[
          '//site.partner.example/admin',
          'http://h//admin',
          '\\admin',
          '/open#/admin',
          '/\xc1\xa1dmin',
          '/a /admin',
        ],
      ].map((path) => [`the path ${path}`, 'GET /open', withHeader('X-Original-URL', path)] as const),
      ...['/admin/x/../..', '/a,b', '/admin?', '/ad/.., /admin/', '/a//b', '//a'].map(
        (prefix) => [`the prefix ${prefix}`, 'GET /open', withHeader('X-Forwarded-Prefix', prefix)] as const,
      ),
      ['two prefixes', 'GET /a,/b/admin', withHeader('X-Script-Name', ['/a', '/b'])],
      ['two paths', 'GET /open', withHeader('X-Original-URL', ['/open', '/admin'])],
      [
        'two prefixes in two spellings',
        'GET /a,/b/admin',
        { headers: { 'x-script-name': '/a', x_script_name: '/b' } },
      ],
    ],
  },
  {
    is: 'url_patterns of a rule that allows, and fields that name another URL',
    at: site,
    match: { url_patterns: [`${site}/open/*`] },
    action: 'ALLOW',
    holds: [
      ['no such field', 'GET /open/x'],
      ['one that names nothing else', 'GET /open/x', withHeader('X-Original-URL', '/open/y')],
    ],
    passes: [
      ['a path', 'GET /open/x', withHeader('X-Original-URL', '/')],
      ['a prefix', 'GET /open/x', withHeader('X-Forwarded-Prefix', '/admin')],
      ['a host', 'GET /open/x', withHeader('X-Forwarded-Host', 'admin.partner.example')],
    ],
  },
  {
    is: 'operations of an MCP server',
    at,
    match: { tool_name: 'mcp', operations: ['delete_repo'] },
    holds: [
      ['the tool of this name', server, json(bad)],
      ['it among twenty messages', server, json(among(20, rpc('tools/list'), bad))],
      ['it in escapes', server, rawJson(escaped)],
      ['it, declared as a text', server, text(JSON.stringify(bad))],
      [
        'another order of the fields',
        server,
        rawJson('{"params":{"name":"delete_repo"},"method":"tools/call","jsonrpc":"2.0"}'),
      ],
      ['a server at the host of a tool', 'POST https://api.githubcopilot.com/mcp/', json(bad)],
    ],
    passes: [
      [
        'another tool',
        server,
        json(rpc('tools/call', { name: 'list_repos', arguments: { name: 'delete_repo' } })),
      ],
      ['the list of tools', server, json(rpc('tools/list'))],
    ],
  },
  {
    is: 'operations of an MCP server, of a rule that allows',
    at,
    match: { tool_name: 'mcp', operations: ['list_repos'] },
    action: 'ALLOW',
    holds: [['the tool of this name', server, json(rpc('tools/call', { name: 'list_repos' }))]],
    passes: [
      ['it beside another', server, json([rpc('tools/call', { name: 'list_repos' }), bad])],
      [
        'a name twice',
        server,
        rawJson(
          '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_repos","name":"delete_repo"}}',
        ),
      ],
    ],
  },
  {
    is: 'is_external_principal of strangers',
    at,
    match: { tool_names: ['custom_proxy', 'slack'], verbs: ['WRITE'] },
    condition: { is_external_principal: true },
    holds: [
      ['a stranger', 'POST /collect', json({})],
      ['a host that begins with ours', 'POST https://acme.test.evil.example/', json({})],
      ['a host that ends like ours', 'POST https://notacme.test/', json({})],
      ['a write that is dressed as a read', 'GET /collect', withHeader('x-http-method-override', 'POST')],
    ],
    passes: [
      ['a host of ours', 'POST https://ci.acme.test/', json({})],
      ['a known tool', 'POST https://slack.com/api/chat.postMessage', json({ channel: 'C1', text: 'hi' })],
      ['reading from a stranger', 'GET /collect'],
    ],
  },
];
