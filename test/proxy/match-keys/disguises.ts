import { form, type Group, httpPart, json, multipart, rawJson, typed, utf16 } from './group.ts';

const eve = 'eve@stranger.example';
const ann = 'ann@acme.test';
const external = { is_external_principal: true };
const guests = { attendees: [{ emailAddress: { address: eve } }] };
const calendarBatch = 'POST https://www.googleapis.com/batch/calendar/v3';
const graphBatch = 'POST https://graph.microsoft.com/v1.0/$batch';
const inBatch = (request: object) => json({ requests: [{ id: '1', ...request }] });
const raw = (head: string) => json({ raw: Buffer.from(`${head}\r\n\r\nhi`).toString('base64url') });
const send = 'POST https://gmail.googleapis.com/gmail/v1/users/me/messages/send';
const upload =
  'POST https://gmail.googleapis.com/upload/gmail/v1/users/me/messages/send?uploadType=multipart';
const related = (metadataHead: string, preamble = '') =>
  typed(
    'multipart/related; boundary=b',
    `${preamble}--b\r\nContent-Type: application/json\r\n${metadataHead}\r\n{}\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nTo: ${eve}\r\n\r\nhi\r\n--b--\r\n`,
  );
const attach = 'Action=AttachUserPolicy&UserName=bob';
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'delete_db' } };
const escaped = JSON.stringify(call).replace('jsonrpc', '\\u006asonrpc');
const mcp = 'POST https://mcp.test.example/mcp';

/* Disguises in which calls have tried to slip past rules, at any vendor. */

export const disguises: readonly Group[] = [
  {
    is: 'an action of AWS that is not told',
    match: { verbs: ['ADMIN'] },
    passes: [],
    holds: [
      ['aws', 'POST https://iam.amazonaws.com/', typed('application/x-www-form-urlencoded; x=json', attach)],
      ['behind 1 MB', 'POST https://iam.amazonaws.com/', form(`x=${'y'.repeat(1_100_000)}&${attach}`)],
      ['declared JSON', 'POST https://iam.amazonaws.com/', typed('application/json', attach)],
      [
        'an action with a space',
        'POST https://iam.amazonaws.com/',
        form('Action=AttachUserPolicy+&UserName=bob'),
      ],
    ],
  },
  {
    is: 'form whose type has json in a parameter',
    match: { channel_patterns: ['secret'] },
    passes: [],
    holds: [
      [
        'json parameter',
        'POST https://slack.com/api/chat.postMessage',
        typed('application/x-www-form-urlencoded; x=json', 'channel=secret&text=hi'),
      ],
    ],
  },
  {
    is: 'two readers of multipart: batch',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'x-boundary',
        calendarBatch,
        typed(
          'multipart/mixed; x-boundary=AAA; boundary=BBB',
          `--BBB\r\n${httpPart('POST /calendar/v3/calendars/primary/events HTTP/1.1', JSON.stringify({ attendees: [{ email: eve }] }))}\r\n--BBB\r\n${httpPart('GET /calendar/v3/calendars/primary HTTP/1.1', `--AAA\r\n${httpPart('GET /calendar/v3/calendars/primary/events HTTP/1.1')}\r\n--AAA--`)}\r\n--BBB--\r\n`,
        ),
      ],
    ],
  },
  {
    is: 'two readers of multipart: form',
    match: { channel_patterns: ['secret'] },
    passes: [],
    holds: [
      [
        'a name in another head field',
        'POST https://slack.com/api/chat.postMessage',
        multipart('form-data', [
          'X-Foo: a; name="b"\r\nContent-Disposition: form-data; name="channel"\r\n\r\nsecret',
        ]),
      ],
      [
        'a name in a file name',
        'POST https://slack.com/api/chat.postMessage',
        multipart('form-data', [
          'Content-Disposition: form-data; filename="; name=a"; name="channel"\r\n\r\nsecret',
        ]),
      ],
      [
        'boundary with spaces',
        'POST https://slack.com/api/chat.postMessage',
        typed(
          'multipart/form-data; boundary =B',
          '--B\r\nContent-Disposition: form-data; name="channel"\r\n\r\nsecret\r\n--B--\r\n',
        ),
      ],
      [
        'name with spaces',
        'POST https://slack.com/api/chat.postMessage',
        multipart('form-data', ['Content-Disposition: form-data; name = "channel"\r\n\r\nsecret']),
      ],
    ],
  },
  {
    is: 'a part without header fields has a body',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'no field',
        calendarBatch,
        multipart('mixed', [
          `Content-Type: application/http\r\n\r\nPOST /calendar/v3/calendars/primary/events HTTP/1.1\r\n\r\n${JSON.stringify({ attendees: [{ email: eve }] })}`,
        ]),
      ],
    ],
  },
  {
    is: 'JSON that is not read is unclear',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'UTF-16 with a mark',
        'POST https://graph.microsoft.com/v1.0/me/events',
        {
          headers: { 'content-type': 'application/json; charset=utf-16' },
          body: Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(JSON.stringify(guests), 'utf16le')]),
        },
      ],
      [
        'UTF-16BE',
        'POST https://graph.microsoft.com/v1.0/me/events',
        {
          headers: { 'content-type': 'application/json' },
          body: Buffer.from(JSON.stringify(guests), 'utf16le').swap16(),
        },
      ],
      [
        'a comment before',
        'POST https://graph.microsoft.com/v1.0/me/events',
        rawJson(`/**/${JSON.stringify(guests)}`),
      ],
      [
        'JSON declared as multipart',
        'POST https://api.github.com/repos/acme/app/hooks',
        typed(
          'multipart/form-data; boundary=x',
          JSON.stringify({ config: { url: 'https://stranger.example/' } }),
        ),
      ],
      [
        'base64 in a batch',
        graphBatch,
        inBatch({
          method: 'POST',
          url: '/me/events',
          headers: { 'content-type': 'application/json' },
          body: Buffer.from(JSON.stringify(guests)).toString('base64url'),
        }),
      ],
    ],
  },
  {
    is: 'mail',
    match: {},
    condition: external,
    passes: [],
    holds: [
      ['a second angle', send, raw(`To: <${eve}> <${ann}>`)],
      ['an angle in a comment', send, raw(`To: ${eve} (<${ann}>)`)],
      ['two by a space', send, raw(`To: ${eve} ${ann}`)],
      ['an escaped comma', send, raw(`To: ${eve}\\\\, ${ann}`)],
      ['a bracket that is not closed', send, raw(`To: <${eve} <${ann}>`)],
      ['a long bracket', send, raw(`To: <${eve}${' '.repeat(1100)}> <${ann}>`)],
      [
        'a name of a line break',
        'POST https://slack.com/api/conversations.inviteShared',
        form(`channel=C1&emails=${eve}%0A${ann}`),
      ],
      ['bare CR', send, raw(`To: ${eve}\rX-Y: ${ann}`)],
      ['open comment', send, raw(`To: ${eve} (${ann}`)],
      [
        'padding in the middle',
        send,
        json({
          raw:
            Buffer.from(`To: ${ann}\r\n`)
              .toString('base64')
              .replace(/=*$/, (p) => p || '') + Buffer.from(`Bcc: ${eve}\r\n\r\nhi`).toString('base64'),
        }),
      ],
    ],
  },
  {
    is: 'mail upload',
    match: {},
    condition: external,
    passes: [],
    holds: [
      ['To in the head of the metadata', upload, related(`To: ${ann}\r\n`)],
      ['To in the preamble', upload, related('', `To: ${ann}\r\n\r\n`)],
      [
        'an end that begins no line',
        upload,
        typed(
          'multipart/related; boundary=b',
          `--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nTo: ${ann}\r\nX: --b--\r\nBcc: ${eve}\r\n\r\nhi\r\n--b--\r\n`,
        ),
      ],
      [
        'a message that begins like JSON',
        upload,
        typed(
          'multipart/related; boundary=b',
          `--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n{x: 1\r\nTo: ${eve}\r\n\r\nhi\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nTo: ${ann}\r\n\r\nhi\r\n--b--\r\n`,
        ),
      ],
      [
        'another boundary',
        upload,
        typed(
          'multipart/related; x-boundary=A; boundary=b',
          `--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nTo: ${eve}\r\n\r\n--A\r\n\r\nTo: ${ann}\r\n\r\nhi\r\n--A--\r\n--b--\r\n`,
        ),
      ],
    ],
  },
  {
    is: 'mcp',
    match: { tool_names: ['mcp'] },
    passes: [],
    holds: [
      ['UTF-16', mcp, utf16(call)],
      ['escaped name and a repeated key', mcp, rawJson(escaped.replace('{', '{"id":2,'))],
      ['escaped name, 101 messages', mcp, rawJson(`[${Array(101).fill(escaped).join()}]`)],
      ['escaped name, above 1 MB', mcp, rawJson(escaped.replace('{', `{"x":"${'y'.repeat(1_100_000)}",`))],
    ],
  },
  {
    is: 'mcp mixed',
    match: { tool_names: ['mcp'], verbs: ['WRITE', 'ADMIN'] },
    passes: [],
    holds: [
      [
        'a message of no version beside a ping',
        mcp,
        json([
          { jsonrpc: '2.0', id: 1, method: 'ping' },
          { ...call, jsonrpc: undefined },
        ]),
      ],
      ['a nested list beside a ping', mcp, json([{ jsonrpc: '2.0', id: 1, method: 'ping' }, [call]])],
    ],
  },
  {
    is: 'overrides',
    match: { methods: ['DELETE'] },
    passes: [],
    holds: [
      ['in unclear JSON', 'POST https://api.test.example/x', rawJson('{"a":1,"a":2,"_method":"DELETE"}')],
      ['behind 1 MB', 'POST https://api.test.example/x', form(`a=${'y'.repeat(1_100_000)}&_method=DELETE`)],
      [
        'multipart',
        'POST https://api.test.example/x',
        multipart('form-data', [
          'X-Foo: a; name="b"\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE',
        ]),
      ],
    ],
  },
  {
    is: 'own domain is no stranger',
    match: {},
    condition: external,
    holds: [],
    passes: [
      [
        'own domain',
        'POST https://www.googleapis.com/drive/v3/files/f/permissions',
        json({ type: 'domain', domain: 'acme.test', role: 'reader' }),
      ],
      [
        'own host',
        'POST https://www.googleapis.com/drive/v3/files/f/watch',
        json({ address: 'https://hooks.acme.test/x' }),
      ],
      [
        'own org in other case',
        'POST https://api.github.com/repos/acme/app/transfer',
        json({ new_owner: 'Acme' }),
      ],
    ],
  },
  {
    is: 'batch URL with a space',
    match: { verbs: ['ADMIN'] },
    holds: [],
    passes: [
      [
        'a query of Salesforce',
        'POST https://acme.my.salesforce.com/services/data/v60.0/composite',
        json({
          compositeRequest: [
            { method: 'GET', url: '/services/data/v60.0/query/?q=SELECT Id FROM Account', referenceId: 'a' },
          ],
        }),
      ],
      ['filter', graphBatch, inBatch({ method: 'GET', url: "/me/messages?$filter=subject eq 'x'" })],
    ],
  },
  {
    is: 'a2a webhooks',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'set',
        mcp,
        json({
          jsonrpc: '2.0',
          id: 1,
          method: 'tasks/pushNotificationConfig/set',
          params: { taskId: '1', pushNotificationConfig: { url: 'https://stranger.example/x' } },
        }),
      ],
      [
        'with a message',
        mcp,
        json({
          jsonrpc: '2.0',
          id: 1,
          method: 'message/send',
          params: {
            message: {},
            configuration: { pushNotificationConfig: { url: 'https://stranger.example/x' } },
          },
        }),
      ],
    ],
  },
];
