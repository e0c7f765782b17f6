import { among, type Content, type Group, json, rawJson, text, withHeader } from './group.ts';

const at = 'https://graph.microsoft.com/v1.0';
const send = 'POST /me/sendMail';
const to = (...addresses: string[]) => ({
  message: { subject: 'x', toRecipients: addresses.map((address) => ({ emailAddress: { address } })) },
});
const eve = 'eve@evil.example';
const batch = (requests: readonly object[]): Content => json({ requests });
const me: object = { id: '1', method: 'GET', url: '/me' };
const bad = {
  id: '7',
  method: 'POST',
  url: '/me/sendMail',
  headers: { 'Content-Type': 'application/json' },
  body: to('ann@acme.test', eve),
};

export const microsoft: readonly Group[] = [
  {
    is: 'principal_patterns of Graph mails',
    at,
    match: { tool_name: 'outlook', operations: ['send_email'], principal_patterns: ['evil.example'] },
    holds: [
      ['a mail', send, json(to(eve))],
      ['one of twenty', send, json(to(...among(20, 'ann@acme.test', eve)))],
      [
        'in blind copy',
        send,
        json({ message: { toRecipients: [], bccRecipients: [{ emailAddress: { address: eve } }] } }),
      ],
      ['the path in capitals', 'POST /Me/SENDMAIL', json(to(eve))],
      [
        'the fields with a capital',
        send,
        json({ Message: { ToRecipients: [{ EmailAddress: { Address: eve } }] } }),
      ],
      ['a mail as MIME', send, text(Buffer.from(`To: ${eve}\r\n\r\nhi`).toString('base64'))],
      ['one part of twenty', 'POST /$batch', batch(among(20, me, bad))],
      ['a part in small letters', 'POST /$batch', batch([me, { ...bad, method: 'post' }])],
      ['a part without its slash', 'POST /$batch', batch([me, { ...bad, url: 'me/sendMail' }])],
      ['a part with a whole URL', 'POST /$batch', batch([me, { ...bad, url: `${at}/me/sendMail` }])],
      ['a part with an escaped path', 'POST /$batch', batch([me, { ...bad, url: '/me/%73endMail' }])],
      ['a part with dot segments', 'POST /$batch', batch([me, { ...bad, url: '/users/../me/sendMail' }])],
      ['the batch in capitals', 'POST /$BATCH', batch([me, bad])],
      ['the batch, escaped', 'POST /%24batch', batch([me, bad])],
      [
        'a part whose fields are escaped',
        'POST /$batch',
        rawJson(JSON.stringify({ requests: [me, bad] }).replaceAll('"url"', '"\\u0075rl"')),
      ],
      [
        'a part with an override',
        'POST /$batch',
        batch([me, { ...bad, method: 'GET', headers: { 'X-HTTP-Method-Override': 'POST' } }]),
      ],
      ['the beta', 'POST https://graph.microsoft.com/beta/$batch', batch([bad])],
      ['another mailbox', 'POST /users/ann@acme.test/sendMail', json(to(eve))],
    ],
    passes: [
      ['a colleague', send, json(to('ann@acme.test'))],
      [
        'in the text',
        send,
        json({
          message: {
            subject: eve,
            body: { content: eve },
            toRecipients: [{ emailAddress: { address: 'ann@acme.test' } }],
          },
        }),
      ],
      [
        'a sender',
        send,
        json({
          message: {
            from: { emailAddress: { address: eve } },
            toRecipients: [{ emailAddress: { address: 'ann@acme.test' } }],
          },
        }),
      ],
      ['a batch of colleagues', 'POST /$batch', batch(Array(20).fill({ ...bad, body: to('ann@acme.test') }))],
      [
        'an invitation in a batch, which is another operation',
        'POST /$batch',
        batch([me, { method: 'POST', url: '/invitations', body: { invitedUserEmailAddress: eve } }]),
      ],
    ],
    stops: [
      [
        'a body in base64',
        'POST /$batch',
        batch([
          {
            ...bad,
            headers: { 'Content-Type': 'text/plain' },
            body: Buffer.from(`To: ${eve}\r\n\r\nhi`).toString('base64'),
          },
        ]),
      ],
      ['a part of the beta', 'POST /$batch', batch([{ ...bad, url: '/../beta/me/sendMail' }])],
      ['a type that says no JSON', 'POST /$batch', text(JSON.stringify({ requests: [bad] }))],
      ['a part with a fragment', 'POST /$batch', batch([{ ...bad, url: '/me/sendMail#x' }])],
      ['a function call', 'POST /me/microsoft.graph.sendMail', json(to(eve))],
      ['a user in parentheses', "POST /users('ann@acme.test')/sendMail", json(to(eve))],
    ],
  },
  {
    is: 'operations and methods in a batch',
    at,
    match: { tool_names: ['graph', 'outlook'], operations: ['invite_user', 'method:DELETE'] },
    holds: [
      ['an invitation', 'POST /invitations', json({ invitedUserEmailAddress: 'ann@acme.test' })],
      [
        'an invitation among twenty',
        'POST /$batch',
        batch(
          among(20, me, {
            method: 'POST',
            url: '/invitations',
            body: { invitedUserEmailAddress: 'ann@acme.test' },
          }),
        ),
      ],
      [
        'a deletion among twenty',
        'POST /$batch',
        batch(among(20, me, { method: 'DELETE', url: '/users/ann@acme.test' })),
      ],
      [
        'a deletion by override',
        'POST /$batch',
        batch([me, { method: 'POST', url: '/users/ann@acme.test', headers: { 'X-HTTP-Method': 'DELETE' } }]),
      ],
    ],
    passes: [
      ['a batch that reads', 'POST /$batch', batch(Array(20).fill(me))],
      [
        'the words in a body',
        'POST /$batch',
        batch([{ method: 'PATCH', url: '/me', body: { displayName: 'DELETE', aboutMe: '/invitations' } }]),
      ],
    ],
  },
  {
    is: 'verbs of a rule that allows, in a batch',
    at,
    match: { tool_names: ['graph', 'outlook'], verbs: ['READ'] },
    action: 'ALLOW',
    holds: [
      ['reading', 'GET /me'],
      ['a batch that reads', 'POST /$batch', batch(Array(20).fill(me))],
    ],
    passes: [
      ['one write of twenty', 'POST /$batch', batch(among(20, me, bad))],
      [
        'a field twice',
        'POST /$batch',
        rawJson('{"requests":[{"method":"GET","method":"GET","url":"/me"}]}'),
      ],
      ['a read that is overridden', 'GET /me', withHeader('x-http-method', 'DELETE')],
    ],
  },
  {
    is: 'is_external_principal in a batch',
    at,
    match: { verbs: ['WRITE', 'ADMIN'] },
    condition: { is_external_principal: true },
    action: 'REQUIRE_APPROVAL',
    holds: [
      ['one of twenty', 'POST /$batch', batch(among(20, { ...bad, body: to('ann@acme.test') }, bad))],
      ['a batch of more than anybody takes', 'POST /$batch', batch(Array(101).fill(me))],
      [
        'a batch with a field twice',
        'POST /$batch',
        rawJson('{"requests":[{"method":"GET","url":"/me","url":"/me"}]}'),
      ],
      ['no requests', 'POST /$batch', batch([])],
      ['a part that sends nobody knows what', 'POST /$batch', batch([{ ...bad, body: 'aGVsbG8=' }])],
    ],
    passes: [
      ['colleagues', 'POST /$batch', batch(Array(20).fill({ ...bad, body: to('ann@acme.test') }))],
      ['reading', 'POST /$batch', batch(Array(20).fill(me))],
    ],
  },
];
