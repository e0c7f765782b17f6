import { iam } from './aws-calls.ts';
import { type Content, form, type Group, httpPart, json, multipart, rawJson, utf16 } from './group.ts';

const github = 'https://api.github.com';
const merge = 'mutation { mergePullRequest(input: { pullRequestId: "PR_1" }) { clientMutationId } }';
const graph = 'https://graph.microsoft.com/v1.0';
const to = (...addresses: string[]) => ({
  message: { subject: 'x', toRecipients: addresses.map((address) => ({ emailAddress: { address } })) },
});
const bad = {
  id: '7',
  method: 'POST',
  url: '/me/sendMail',
  headers: { 'Content-Type': 'application/json' },
  body: to('eve@evil.example'),
};
const me = { id: '1', method: 'GET', url: '/me' };
const mcp = 'https://tools.partner.example';
const rpc = (method: string, params: unknown = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const drop = rpc('tools/call', { name: 'delete_repo', arguments: {} });
const b64 = (text: string): string => Buffer.from(text).toString('base64url');
const send = 'POST https://gmail.googleapis.com/gmail/v1/users/me/messages/send';
const mail = (head: string): Content => json({ raw: b64(`${head}\r\nSubject: hi\r\n\r\nhi`) });
const share = 'POST https://slack.com/api/conversations.inviteShared';

/* What nobody can tell: a rule that allows does not hold, any other does. */

export const unclear: readonly Group[] = [
  {
    is: 'what nobody can take apart: GraphQL',
    at: github,
    match: { tool_name: 'github', operations: ['merge_pr'] },
    holds: [
      [
        'the document twice',
        'POST /graphql',
        rawJson(`{"query":${JSON.stringify(merge)},"query":"{ viewer { login } }"}`),
      ],
      [
        'the document twice, last',
        'POST /graphql',
        rawJson(`{"query":"{ viewer { login } }","query":${JSON.stringify(merge)}}`),
      ],
      [
        'an unrelated field twice',
        'POST /graphql',
        rawJson(`{"query":${JSON.stringify(merge)},"variables":{"a":1,"a":2}}`),
      ],
      [
        'a persisted query',
        'POST /graphql',
        json({ extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }),
      ],
      [
        'a hundred fields before it',
        'POST /graphql',
        json({
          query: merge.replace(
            '{',
            `{ ${Array.from({ length: 100 }, (_, i) => `a${i}: addComment(input: {}) { clientMutationId }`).join(' ')}`,
          ),
        }),
      ],
      [
        'more than 4096 tokens',
        'POST /graphql',
        json({
          query: merge.replace(
            '{',
            `{ x: addComment(input: { body: [${'1 '.repeat(4200)}] }) { clientMutationId }`,
          ),
        }),
      ],
      ['a document of more than 64 KB', 'POST /graphql', json({ query: `${merge} #${'a'.repeat(66_000)}` })],
      [
        'the last of 101 documents',
        'POST /graphql',
        json([...Array(100).fill({ query: '{ viewer { login } }' }), { query: merge }]),
      ],
      [
        'beside a definition of a type',
        'POST /graphql',
        json({ query: `${merge} extend type Query { a: Int }` }),
      ],
      ['in UTF-16', 'POST /graphql', utf16({ query: merge })],
    ],
    passes: [],
  },
  {
    is: 'what nobody can take apart: Graph $batch',
    at: graph,
    match: { tool_names: ['graph', 'outlook'], operations: ['send_email', 'invite_user'] },
    holds: [
      [
        'a field of a part twice',
        'POST /$batch',
        rawJson(
          `{"requests":[{"method":"GET","url":"/me","url":"/me/sendMail","method":"POST","body":${JSON.stringify(bad.body)}}]}`,
        ),
      ],
      [
        'requests twice',
        'POST /$batch',
        rawJson(`{"requests":[${JSON.stringify(me)}],"requests":[${JSON.stringify(bad)}]}`),
      ],
      ['the last of 101', 'POST /$batch', json({ requests: [...Array(100).fill(me), bad] })],
      ['requests with a capital', 'POST /$batch', json({ Requests: [bad] })],
      ['a method that is no text', 'POST /$batch', json({ requests: [{ ...bad, method: ['POST'] }] })],
    ],
    passes: [],
  },
  {
    is: 'what nobody can take apart: the tool of a guest',
    at: graph,
    match: { tool_name: 'outlook', operations: ['send_email'] },
    holds: [
      [
        'a field of a part twice',
        'POST /$batch',
        rawJson(
          `{"requests":[{"method":"GET","url":"/me","url":"/me/sendMail","method":"POST","body":${JSON.stringify(bad.body)}}]}`,
        ),
      ],
    ],
    passes: [],
  },
  {
    is: 'what nobody can take apart: method: and verbs',
    at: graph,
    match: { tool_name: 'graph', verbs: ['WRITE'] },
    holds: [
      [
        'a part that nobody can tell',
        'POST /$batch',
        rawJson('{"requests":[{"method":"POST","url":"/me","url":"/me/sendMail","body":{}}]}'),
      ],
    ],
    passes: [],
  },
  {
    is: 'what nobody can take apart: method: in a batch',
    at: graph,
    match: { tool_name: 'graph', operations: ['method:DELETE'] },
    holds: [
      [
        'a method twice',
        'POST /$batch',
        rawJson('{"requests":[{"method":"GET","method":"DELETE","url":"/users/ann@acme.test"}]}'),
      ],
    ],
    passes: [],
  },
  {
    is: 'what nobody can take apart: AWS actions',
    match: { tool_name: 'aws', operations: ['attach_user_policy'] },
    holds: [
      [
        'one of seventeen actions',
        iam,
        form(`Action=AttachUserPolicy&${[...'abcdefghijklmnop'].map((it) => `Action=Get${it}`).join('&')}`),
      ],
    ],
    passes: [],
  },
  {
    is: 'what nobody can take apart: messages of MCP and A2A',
    at: mcp,
    match: { tool_names: ['mcp', 'a2a'], operations: ['delete_repo', 'tasks/cancel'] },
    holds: [
      [
        'a name twice',
        'POST /mcp',
        rawJson(
          '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_repos","name":"delete_repo"}}',
        ),
      ],
      [
        'a method twice',
        'POST /mcp',
        rawJson(
          '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"delete_repo"}}',
        ),
      ],
      ['the last of 101', 'POST /mcp', json([...Array(100).fill(rpc('ping')), drop])],
      ['in UTF-16', 'POST /mcp', utf16(drop)],
      [
        'A2A, a method twice',
        'POST /a2a',
        rawJson('{"jsonrpc":"2.0","id":1,"method":"tasks/get","method":"tasks/cancel"}'),
      ],
      [
        'A2A, any field twice',
        'POST /a2a',
        rawJson('{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"1","id":"2"}}'),
      ],
    ],
    passes: [],
  },
  {
    is: 'what nobody can take apart: tool_name a2a',
    at: mcp,
    match: { tool_name: 'a2a' },
    holds: [
      [
        'a method twice',
        'POST /a2a',
        rawJson('{"jsonrpc":"2.0","id":1,"method":"tasks/get","method":"tasks/cancel"}'),
      ],
    ],
    passes: [],
  },
  {
    is: 'principals that nobody has read',
    match: { principal_patterns: ['evil.example', 'evil-corp'] },
    holds: [
      [
        'GitHub, a field twice',
        `POST ${github}/repos/acme/app/transfer`,
        rawJson('{"new_owner":"evil-corp","new_owner":"bob"}'),
      ],
      [
        'GitHub, a field twice, the other way',
        `POST ${github}/repos/acme/app/transfer`,
        rawJson('{"new_owner":"bob","new_owner":"evil-corp"}'),
      ],
      ['GitHub, in UTF-16', `POST ${github}/repos/acme/app/transfer`, utf16({ new_owner: 'evil-corp' })],
      [
        'Slack, emails twice',
        share,
        rawJson('{"channel":"C1","emails":["eve@evil.example"],"emails":["ann@acme.test"]}'),
      ],
      [
        'Gmail, the message twice',
        send,
        rawJson(
          `{"raw":"${b64('To: eve@evil.example\r\n\r\nhi')}","raw":"${b64('To: ann@acme.test\r\n\r\nhi')}"}`,
        ),
      ],
      [
        'Gmail, a head of more than 64 KB',
        send,
        mail(`To: ann@acme.test\r\nX-Long: ${'a'.repeat(66_000)}\r\nBcc: eve@evil.example`),
      ],
      [
        'Gmail, an upload in two parts',
        'POST https://gmail.googleapis.com/upload/gmail/v1/users/me/messages/send?uploadType=multipart',
        multipart('related', [
          'Content-Type: application/json\r\n\r\n{}',
          'Content-Type: message/rfc822\r\n\r\nTo: eve@evil.example\r\n\r\nhi',
        ]),
      ],
      [
        'Gmail, a part of a batch with a field twice',
        'POST https://www.googleapis.com/batch/gmail/v1',
        multipart('mixed', [
          httpPart(
            'POST /gmail/v1/users/me/messages/send HTTP/1.1',
            `{"raw":"${b64('To: ann@acme.test\r\n\r\n')}","raw":"${b64('To: eve@evil.example\r\n\r\n')}"}`,
          ),
        ]),
      ],
      [
        'Graph, a field twice',
        `POST ${graph}/me/sendMail`,
        rawJson(
          `{"message":${JSON.stringify(to('eve@evil.example').message)},"message":${JSON.stringify(to('ann@acme.test').message)}}`,
        ),
      ],
      [
        'Graph, fields in a mixed spelling',
        `POST ${graph}/me/sendMail`,
        json({ message: { ToRecipients: [{ emailAddress: { address: 'eve@evil.example' } }] } }),
      ],
      [
        'Graph, fields in capitals',
        `POST ${graph}/me/sendMail`,
        json({ MESSAGE: { TORECIPIENTS: [{ EMAILADDRESS: { ADDRESS: 'eve@evil.example' } }] } }),
      ],
      [
        'Graph, a batch with a field twice',
        `POST ${graph}/$batch`,
        rawJson(`{"requests":[${JSON.stringify(me)}],"requests":[${JSON.stringify(bad)}]}`),
      ],
    ],
    passes: [],
  },
  {
    is: '_method',
    at: github,
    match: { tool_name: 'github', operations: ['merge_pr'] },
    holds: [
      ['in JSON, twice', 'POST /repos/acme/app/pulls/7/merge', rawJson('{"_method":"PUT","_method":"PUT"}')],
      [
        'in JSON with another field twice',
        'POST /repos/acme/app/pulls/7/merge',
        rawJson('{"a":1,"a":1,"_method":"PUT"}'),
      ],
      ['in a form of no declared type', 'POST /repos/acme/app/pulls/7/merge', { body: '_method=PUT' }],
      ['in JSON in UTF-16', 'POST /repos/acme/app/pulls/7/merge', utf16({ _method: 'PUT' })],
    ],
    passes: [],
  },
  {
    is: 'a value where a list is due',
    match: { tool_name: 'gcalendar' },
    condition: { is_external_principal: true },
    holds: [
      [
        'guests as an object',
        'POST https://www.googleapis.com/calendar/v3/calendars/primary/events',
        json({ attendees: { email: 'eve@evil.example' } }),
      ],
    ],
    passes: [],
  },
  {
    is: 'agent cards by HEAD',
    at: mcp,
    match: { tool_name: 'a2a', verbs: ['READ'] },
    holds: [
      ['HEAD', 'HEAD /.well-known/agent-card.json'],
      ['OPTIONS', 'OPTIONS /.well-known/agent-card.json'],
      ['an escaped hyphen', 'GET /.well-known/agent%2Dcard.json'],
    ],
    passes: [],
  },
];
