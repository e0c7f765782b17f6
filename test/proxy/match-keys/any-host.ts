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
      ['a whole URL', 'GET /open', withHeader('X-Rewrite-URL', `${site}/admin/users`)],
      ['dots and escapes', 'GET /open', withHeader('X-Original-URL', '/x/..%2f%61dmin')],
      ['no slash', 'GET /open', withHeader('X-Original-URL', 'admin/users')],
      ['the second of two fields', 'GET /open', withHeader('X-Original-URL', ['/open', '/admin'])],
      ['the second of a list', 'GET /open', withHeader('X-Forwarded-Uri', '/open, /admin')],
      ['a prefix', 'GET /users', withHeader('X-Forwarded-Prefix', '/admin')],
      ['a prefix of prefixes', 'GET /users', withHeader('X-Forwarded-Prefix', '/ad/.., /admin/')],
      ['a prefix that is taken off', 'GET /open/admin/users', withHeader('X-Script-Name', '/open')],
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
            'x-forwarded-uri': '/open',
            forwarded: 'for=192.0.2.1',
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
