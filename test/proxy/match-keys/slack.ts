import { brotliCompressSync, gzipSync } from 'node:zlib';
import {
  among,
  type Content,
  form,
  type Group,
  json,
  multipart,
  rawJson,
  text,
  typed,
  utf16,
  withHeader,
} from './group.ts';

const at = 'https://slack.com/api';
const post = 'POST /chat.postMessage';
const share = 'POST /conversations.inviteShared';
const announcement = JSON.stringify({ channel: 'announce', text: 'hi' });
const compressed = (coding: string, body: Buffer): Content =>
  withHeader('content-encoding', coding, { headers: { 'content-type': 'application/json' }, body });
const oddPart = (parameters: string): string =>
  `Content-Disposition: form-data; ${parameters}\r\n\r\nannounce`;
const invitation = (emails: readonly string[]): Content => json({ channel: 'C1', emails });
/** More than are read. */
const colleagues = Array.from({ length: 1100 }, (_, i) => `a${i}@acme.test`);
const part = (name: string, value: string): string =>
  `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`;

export const slack: readonly Group[] = [
  {
    is: 'channel_patterns',
    at,
    match: { tool_name: 'slack', channel_patterns: ['#announce', 'sec-*', 'C0SECRET01'] },
    holds: [
      ['with its #', post, json({ channel: '#announce', text: 'hi' })],
      ['without its #', post, json({ channel: 'announce', text: 'hi' })],
      ['one of the glob', post, json({ channel: '#sec-incidents', text: 'hi' })],
      ['by its id', 'GET /conversations.history?channel=C0SECRET01'],
      ['in a form', post, form('text=hi&channel=%23announce')],
      ['in a query', `${post}?channel=%23announce&text=hi`],
      ['in multipart', post, multipart('form-data', [part('text', 'hi'), part('channel', '#announce')])],
      ['by a GET', 'GET /chat.postMessage?channel=announce&text=hi'],
      ['in another field', 'POST /bookmarks.add', json({ channel_id: 'C0SECRET01', type: 'link' })],
      ['one of several', 'POST /files.upload', form('channels=C1,C0SECRET01&content=x')],
      [
        'a file to one of several',
        'POST /files.completeUploadExternal',
        json({ files: [], channel_id: 'C0SECRET01' }),
      ],
      ['a method that the table lacks', 'POST /conversations.newThing', json({ channel: 'announce' })],
      ['twice in a form, last', post, form('channel=random&channel=announce&text=hi')],
      ['twice in a form, first', post, form('channel=announce&channel=random&text=hi')],
      ['twice in a query', 'GET /chat.postMessage?channel=random&channel=announce&text=hi'],
      [
        'in the query beside another in JSON',
        `${post}?channel=random`,
        json({ channel: 'announce', text: 'hi' }),
      ],
      [
        'in JSON beside another in the query',
        `${post}?channel=announce`,
        json({ channel: 'random', text: 'hi' }),
      ],
      ['a list instead of a text', post, json({ channel: ['announce'], text: 'hi' })],
      ['twice in JSON, first', post, rawJson('{"channel":"announce","channel":"random"}')],
      ['twice in JSON, last', post, rawJson('{"channel":"random","channel":"announce"}')],
      ['an escaped name', post, rawJson('{"ch\\u0061nnel":"\\u0061nnounce"}')],
      ['JSON that is declared a text', post, text('{"channel":"announce"}')],
      ['JSON that is declared a form', post, form('{"channel":"announce"}')],
      ['a form that is declared nothing', post, { body: 'channel=announce&text=hi' }],
      ['an escaped name in a form', post, form('ch%61nnel=%61nnounce')],
      [
        'a workspace of its own',
        'POST https://acme.slack.com/api/chat.postMessage',
        json({ channel: 'announce' }),
      ],
      [
        'in two parts',
        post,
        multipart('form-data', [part('channel', 'random'), part('channel', 'announce')]),
      ],
      [
        'a part whose name is not quoted',
        post,
        multipart('form-data', ['Content-Disposition: form-data; name=channel\r\n\r\nannounce']),
      ],
      ['compressed', post, compressed('gzip', gzipSync(announcement))],
      ['compressed twice', post, compressed('gzip, br', brotliCompressSync(gzipSync(announcement)))],
      ['behind a byte order mark', post, rawJson(`\ufeff${announcement}`)],
      ['behind white space', post, rawJson(`\r\n\t ${announcement}`)],
      ['a type in capitals', post, typed('Application/JSON; Charset=UTF-8', announcement)],
      ['a part whose parameter is in capitals', post, multipart('form-data', [oddPart('NAME="channel"')])],
      ['a part with two names', post, multipart('form-data', [oddPart('name="text"; name="channel"')])],
      ['a part with an extended name', post, multipart('form-data', [oddPart("name*=utf-8''channel")])],
      ['a part that is a file', post, multipart('form-data', [oddPart('name="channel"; filename="a"')])],
      [
        'behind a part of 100 KB',
        post,
        multipart('form-data', [part('text', 'a'.repeat(100_000)), part('channel', 'announce')]),
      ],
      ['more fields than are read', post, form(`${'a&'.repeat(10_001)}channel=announce`)],
    ],
    passes: [
      ['another', post, json({ channel: '#random', text: 'hi' })],
      ['one that begins alike', post, json({ channel: '#announcements', text: 'hi' })],
      ['one whose end is alike', post, json({ channel: 'my-sec-1', text: 'hi' })],
      ['the name in the text', post, json({ channel: '#random', text: '#announce' })],
      ['a nested field', post, json({ channel: '#random', metadata: { channel: '#announce' } })],
      ['a call about no channel', 'GET /users.list?limit=5'],
      [
        'the name of a channel of another tool',
        'POST https://discord.com/api/v10/channels/1/messages',
        json({ content: 'x', channel: 'announce' }),
      ],
    ],
    stops: [
      [
        'two types',
        post,
        withHeader('content-type', ['application/json', 'application/x-www-form-urlencoded'], {
          body: 'channel=announce',
        }),
      ],
      ['a path in another case', 'POST /Chat.PostMessage', json({ channel: 'announce' })],
      ['a doubled slash', 'POST https://slack.com//api//chat.postMessage', json({ channel: 'announce' })],
      ['parameters of a segment', 'POST /chat.postMessage;x=1', json({ channel: 'announce' })],
      [
        'multipart with an odd boundary',
        post,
        typed(
          'multipart/form-data; boundary=a; boundary=b',
          '--b\r\nContent-Disposition: form-data; name="channel"\r\n\r\nannounce\r\n--b--\r\n',
        ),
      ],
      [
        'a part in base64',
        post,
        multipart('form-data', [
          'Content-Disposition: form-data; name="channel"\r\nContent-Transfer-Encoding: base64\r\n\r\nYW5ub3VuY2U=',
        ]),
      ],
      ['in UTF-16', post, utf16({ channel: 'announce' })],
      ['a very long form', post, form(`${'a=1&'.repeat(11_000)}channel=announce`)],
    ],
  },
  {
    is: 'channel_patterns with every sign of a glob',
    at,
    match: { channel_patterns: ['c[0-2]?', '[!a-y]x'] },
    holds: [
      ['one of a range and one more', post, json({ channel: 'c1z' })],
      ['none of a range', post, json({ channel: '#zx' })],
    ],
    passes: [
      ['none of the range', post, json({ channel: 'c3z' })],
      ['a sign less', post, json({ channel: 'c1' })],
      ['one of the range', post, json({ channel: 'ax' })],
    ],
  },
  {
    is: 'channel_patterns of a rule that allows',
    at,
    match: { tool_name: 'slack', operations: ['post_message'], channel_patterns: ['bots', 'bots-*'] },
    action: 'ALLOW',
    holds: [
      ['the channel', post, json({ channel: '#bots', text: 'hi' })],
      ['in a form', post, form('channel=bots-1&text=hi')],
    ],
    passes: [
      ['another', post, json({ channel: '#random' })],
      ['none', post, json({ text: 'hi' })],
      ['it beside another', post, form('channel=bots&channel=random')],
      ['it beside another in the query', `${post}?channel=random`, json({ channel: 'bots' })],
      ['twice in JSON', post, rawJson('{"channel":"bots","channel":"bots"}')],
      ['two in one text', post, json({ channel: 'bots,random' })],
      ['another method on it', 'POST /conversations.archive', json({ channel: 'bots' })],
      ['a glob that the caller writes', post, json({ channel: 'bots*' })],
    ],
    stops: [['a form with a semicolon', post, form('channel=bots;channel=random')]],
  },
  {
    is: 'is_external_principal of Slack Connect',
    at,
    match: { tool_name: 'slack', operations: ['category:connect', 'admin_invite_user'] },
    condition: { is_external_principal: true },
    action: 'REQUIRE_APPROVAL',
    holds: [
      ['a stranger', share, invitation(['eve@stranger.example'])],
      [
        'a stranger among twenty colleagues',
        share,
        invitation(among(20, 'ann@acme.test', 'eve@stranger.example')),
      ],
      ['one text with commas', share, form('channel=C1&emails=ann@acme.test,eve@stranger.example')],
      ['a text instead of a list', share, json({ channel: 'C1', emails: 'eve@stranger.example' })],
      ['a user of another workspace', share, json({ channel: 'C1', user_ids: ['U0EXTERN1'] })],
      ['a domain that ends in ours', share, invitation(['eve@notacme.test'])],
      ['a domain that begins with ours', share, invitation(['eve@acme.test.stranger.example'])],
      ['our domain as a name', share, invitation(['ann@acme.test@stranger.example'])],
      [
        'emails in query and body',
        'POST /conversations.inviteShared?emails=eve@stranger.example',
        invitation(['ann@acme.test']),
      ],
      [
        'emails twice',
        share,
        rawJson('{"channel":"C1","emails":["ann@acme.test"],"emails":["eve@stranger.example"]}'),
      ],
      ['an account', 'POST /admin.users.invite', json({ team_id: 'T1', email: 'eve@stranger.example' })],
    ],
    passes: [
      ['a colleague', share, invitation(['ann@acme.test'])],
      ['a colleague in capitals', share, invitation(['Ann@ACME.Test'])],
      ['a colleague of a subdomain', share, invitation(['ann@eu.acme.test'])],
      ['a stranger in a message', post, json({ channel: 'C1', text: 'eve@stranger.example' })],
      ['a member of the workspace', 'POST /conversations.invite', json({ channel: 'C1', users: 'U1' })],
    ],
    stops: [['a stranger behind a crowd', share, invitation([...colleagues, 'eve@stranger.example'])]],
  },
  {
    is: 'principal_patterns of mail domains',
    at,
    match: { tool_name: 'slack', principal_patterns: ['stranger.example', '@rival.example$'] },
    holds: [
      ['the domain', share, invitation(['eve@stranger.example'])],
      ['with @ and $', share, invitation(['bob@rival.example'])],
      ['in capitals', share, invitation(['EVE@Stranger.EXAMPLE'])],
      ['with a name', share, invitation(['Eve <eve@stranger.example>'])],
      ['with a final dot', share, invitation(['eve@stranger.example.'])],
      ['among twenty', share, invitation(among(20, 'ann@acme.test', 'eve@stranger.example'))],
    ],
    passes: [
      ['another domain', share, invitation(['eve@strangers.example'])],
      ['a subdomain', share, invitation(['eve@mail.stranger.example'])],
      ['the domain as a name', share, invitation(['stranger.example@acme.test'])],
    ],
    stops: [['a stranger behind a crowd', share, invitation([...colleagues, 'eve@stranger.example'])]],
  },
  {
    is: 'principal_patterns of a rule that allows',
    at,
    match: { tool_name: 'slack', operations: ['invite_shared'], principal_patterns: ['acme.test'] },
    action: 'ALLOW',
    holds: [['a colleague', share, invitation(['ann@acme.test'])]],
    passes: [
      ['a colleague and a stranger', share, invitation(['ann@acme.test', 'eve@stranger.example'])],
      ['nobody', share, json({ channel: 'C1' })],
      [
        'emails twice',
        share,
        rawJson('{"channel":"C1","emails":["ann@acme.test"],"emails":["ann@acme.test"]}'),
      ],
      ['a colleague and a user', share, json({ channel: 'C1', emails: ['ann@acme.test'], user_ids: ['U9'] })],
    ],
  },
  {
    is: 'account_patterns of workspaces',
    at,
    match: { tool_name: 'slack', account_patterns: ['T0OTHER'] },
    holds: [
      ['a webhook of it', 'POST https://hooks.slack.com/services/T0OTHER/B1/abc', json({ text: 'hi' })],
      ['a field', 'POST /admin.users.list', form('team_id=T0OTHER')],
    ],
    passes: [
      [
        'a webhook of another',
        'POST https://hooks.slack.com/services/T0OURS/B1/abc',
        json({ text: 'T0OTHER' }),
      ],
    ],
    stops: [
      [
        'team beside team_id',
        'POST /admin.users.invite',
        json({ team: 'T0OURS', team_id: 'T0OTHER', email: 'ann@acme.test' }),
      ],
    ],
  },
  {
    is: 'SANITIZE on a channel',
    at,
    match: { tool_name: 'slack', channel_patterns: ['general'] },
    action: 'SANITIZE',
    holds: [['it', post, json({ channel: 'general', text: 'mail jane.roe@gmail.com' })]],
    passes: [['another', post, json({ channel: 'random', text: 'mail jane.roe@gmail.com' })]],
  },
  {
    is: 'OPEN_INCIDENT on an operation',
    at,
    match: { tool_name: 'slack', operations: ['share_file_publicly'] },
    action: 'OPEN_INCIDENT',
    holds: [['it', 'GET /files.sharedPublicURL?file=F1']],
    passes: [['taking it back', 'GET /files.revokePublicURL?file=F1']],
  },
];
