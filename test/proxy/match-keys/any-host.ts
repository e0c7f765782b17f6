import { among, type Group, json, rawJson, text, withHeader } from './group.ts';

/* What is told by its messages and not by its host, and hosts that no tool has. */

const at = 'https://tools.partner.example';
const server = 'POST /mcp';
const rpc = (method: string, params: unknown = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const bad = rpc('tools/call', { name: 'delete_repo', arguments: {} });
const escaped = JSON.stringify(bad).replace('jsonrpc', 'js\\u006fnrpc').replace('delete', 'd\\u0065lete');

export const anyHost: readonly Group[] = [
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
