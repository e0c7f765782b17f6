import {
  among,
  type Content,
  type Group,
  httpPart,
  json,
  multipart,
  type Row,
  rawJson,
  typed,
  utf16,
} from './group.ts';

const send = 'POST https://gmail.googleapis.com/gmail/v1/users/me/messages/send';
const upload = 'POST https://gmail.googleapis.com/upload/gmail/v1/users/me/messages/send';
const batch = 'POST https://www.googleapis.com/batch/gmail/v1';
const b64 = (text: string): string => Buffer.from(text).toString('base64url');
const mail = (head: string, text = 'hello'): Content => message(`${head}\r\nSubject: hi\r\n\r\n${text}`);
/** The message whole. */
const message = (text: string): Content => json({ raw: b64(text) });

/** Mails to eve@evil.example, and some to ann@acme.test as well. */
const mails: readonly (readonly [is: string, content: Content])[] = [
  ['to', mail('To: eve@evil.example')],
  ['cc', mail('To: ann@acme.test\r\nCc: eve@evil.example')],
  ['bcc', mail('To: ann@acme.test\r\nBcc: eve@evil.example')],
  ['the last of many', mail(`To: ${among(20, 'ann@acme.test', 'eve@evil.example').join(', ')}`)],
  ['a name that is a colleague', mail('To: "ann@acme.test" <eve@evil.example>')],
  ['a name with a comma', mail('To: "Ann, ann@acme.test" <eve@evil.example>')],
  ['a folded field', mail('To: ann@acme.test,\r\n eve@evil.example')],
  ['a field folded at its beginning', mail('To:\r\n\teve@evil.example')],
  ['a field in capitals', mail('BCC: eve@evil.example')],
  ['a space before the colon', mail('Bcc : eve@evil.example')],
  ['a field of a second sending', mail('To: ann@acme.test\r\nResent-To: eve@evil.example')],
  ['a field twice', mail('To: ann@acme.test\r\nTo: eve@evil.example')],
  ['a group', mail('To: team: ann@acme.test, eve@evil.example;')],
  ['a route', mail('To: <@acme.test:eve@evil.example>')],
  ['a domain in capitals', mail('To: eve@EVIL.Example')],
  ['a final dot', mail('To: eve@evil.example.')],
  ['semicolons', mail('To: ann@acme.test; eve@evil.example')],
  ['line feeds alone', message('To: ann@acme.test\nBcc: eve@evil.example\n\nhi')],
  [
    'base64 of the other alphabet',
    json({ raw: Buffer.from('To: eve@evil.example\r\nSubject: ??>>~~\r\n\r\nhi').toString('base64') }),
  ],
  [
    'base64 in lines',
    json({
      raw: `${b64('To: eve@evil.example\r\n\r\nhi').slice(0, 12)}\r\n${b64('To: eve@evil.example\r\n\r\nhi').slice(12)}`,
    }),
  ],
  ['the message in a list', json({ raw: [b64('To: eve@evil.example\r\n\r\nhi')] })],
];

/** Mails of which it is not easy to say whom they go to, and one who may get them is a stranger. */
const oddMails: readonly (readonly [is: string, content: Content])[] = [
  ['a comment behind the address', mail('To: eve@evil.example (x@acme.test)')],
  ['a comment in the address', mail('To: eve@(hello)evil.example')],
  ['a comment that is never closed', mail('To: eve@evil.example(,ann@acme.test')],
  ['an angle bracket that is never closed', mail('To: <eve@evil.example')],
  ['an escaped quote in a name', mail('To: "a\\" <ann@acme.test>" <eve@evil.example>')],
  ['a backslash before the comma', mail('To: ann@acme.test\\, eve@evil.example')],
  ['a colleague as the name of a group', mail('To: ann@acme.test: eve@evil.example;')],
  ['the whole address in quotes', mail('To: "eve@evil.example"@acme.test.evil.example')],
  ['a line that ends in a return alone', mail('To: ann@acme.test\rBcc: eve@evil.example')],
  ['an encoded word', mail('To: =?utf-8?b?ZXZlQGV2aWwuZXhhbXBsZQ==?=')],
  ['an empty line before the head', message('\r\nTo: eve@evil.example\r\n\r\nhi')],
  ['a line of an mbox before the head', message('From x\r\nTo: eve@evil.example\r\n\r\nhi')],
  ['a line of white space in the head', message('To: ann@acme.test\r\n \r\nBcc: eve@evil.example\r\n\r\nhi')],
  ['base64 of base64', message(b64('To: eve@evil.example\r\n\r\nhi'))],
];

export const gmail: readonly Group[] = [
  {
    is: 'principal_patterns of a mail',
    match: { tool_name: 'gmail', operations: ['send_email'], principal_patterns: ['evil.example'] },
    holds: [
      ...mails.map(([is, content]): Row => [is, send, content]),
      [
        'an upload of the message',
        `${upload}?uploadType=media`,
        typed('message/rfc822', 'To: eve@evil.example\r\n\r\nhi'),
      ],
      [
        'a mailbox of a colleague',
        'POST https://gmail.googleapis.com/gmail/v1/users/ann%40acme.test/messages/send',
        mail('To: eve@evil.example'),
      ],
      [
        'the old host',
        'POST https://www.googleapis.com/gmail/v1/users/me/messages/send',
        mail('To: eve@evil.example'),
      ],
      [
        'a part of a batch',
        batch,
        multipart(
          'mixed',
          among(
            20,
            httpPart('GET /gmail/v1/users/me/labels HTTP/1.1'),
            httpPart(
              'POST /gmail/v1/users/me/messages/send HTTP/1.1',
              JSON.stringify({ raw: b64('To: eve@evil.example\r\n\r\nhi') }),
            ),
          ),
        ),
      ],
    ],
    passes: [
      ['a colleague', send, mail('To: ann@acme.test')],
      ['in the subject', send, mail('To: ann@acme.test\r\nX-Note: eve@evil.example')],
      ['in the text', send, mail('To: ann@acme.test', 'To: eve@evil.example')],
      ['a sender', send, mail('From: eve@evil.example\r\nTo: ann@acme.test\r\nReply-To: eve@evil.example')],
      ['a name', send, mail('To: "eve@evil.example" <ann@acme.test>')],
      ['a domain below it', send, mail('To: eve@not.evil.example')],
      [
        'a draft of it, which is another operation',
        'POST https://gmail.googleapis.com/gmail/v1/users/me/drafts',
        json({ message: { raw: b64('To: eve@evil.example\r\n\r\nhi') } }),
      ],
    ],
    stops: [
      ['line ends of a single return', send, message('To: ann@acme.test\rBcc: eve@evil.example\r\r\nhi')],
      ['a quote that is never closed', send, mail('To: "ann@acme.test, eve@evil.example')],
      [
        'a resumable upload, its second step',
        'PUT https://gmail.googleapis.com/upload/gmail/v1/users/me/messages/send?uploadType=resumable&upload_id=1',
        { body: 'To: eve@evil.example\r\n\r\nhi' },
      ],
    ],
  },
  {
    is: 'is_external_principal of a mail',
    match: { tool_name: 'gmail', verbs: ['WRITE', 'ADMIN'] },
    condition: { is_external_principal: true },
    action: 'REQUIRE_APPROVAL',
    holds: [
      ...mails.map(([is, content]): Row => [is, send, content]),
      [
        'a message twice',
        send,
        rawJson(
          `{"raw":"${b64('To: ann@acme.test\r\n\r\nhi')}","raw":"${b64('To: ann@acme.test\r\n\r\nhi')}"}`,
        ),
      ],
      ['a message that nobody can read', send, json({ raw: 'hello' })],
      ...oddMails.map(([is, content]): Row => [is, send, content]),
      ['no message', send, json({})],
      [
        'a draft by its id',
        'POST https://gmail.googleapis.com/gmail/v1/users/me/drafts/send',
        json({ id: 'r1' }),
      ],
      [
        'an upload in two parts',
        `${upload}?uploadType=multipart`,
        multipart('related', [
          'Content-Type: application/json\r\n\r\n{}',
          'Content-Type: message/rfc822\r\n\r\nTo: eve@evil.example\r\n\r\nhi',
        ]),
      ],
      [
        'a forwarding address',
        'PUT https://gmail.googleapis.com/gmail/v1/users/me/settings/autoForwarding',
        json({ enabled: true, emailAddress: 'eve@evil.example' }),
      ],
      ['a comment in the address', send, mail('To: eve@(hello)evil.example')],
      [
        'a head of more than anybody reads',
        send,
        mail(`To: ann@acme.test\r\nX-Long: ${'a'.repeat(66_000)}\r\nBcc: eve@evil.example`),
      ],
    ],
    passes: [
      ['a colleague', send, mail('To: ann@acme.test')],
      [
        'colleagues',
        send,
        mail(
          'To: Ann <ann@acme.test>, "Roe, Bob" <bob@eu.acme.test>\r\nCc: team: cem@acme.test, dee@acme.test;',
        ),
      ],
      [
        'a label',
        'POST https://gmail.googleapis.com/gmail/v1/users/me/labels',
        json({ name: 'eve@evil.example' }),
      ],
      [
        'a part of a batch that reads',
        batch,
        multipart('mixed', [httpPart('GET /gmail/v1/users/me/labels HTTP/1.1')]),
      ],
    ],
    stops: [
      ['a return alone', send, message('To: ann@acme.test\rBcc: eve@evil.example\r\r\nhi')],
      ['a body in another encoding', send, utf16({ raw: b64('To: eve@evil.example\r\n\r\nhi') })],
      ['an encoded word', send, mail('To: =?utf-8?q?eve=40evil.example?=\r\nCc: ann@acme.test')],
    ],
  },
];
