import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import t, { type Test } from 'tap';
import { ownName } from '../../src/core/safe-name.ts';
import { createEmail } from '../../src/notify/channels/email.ts';
import { testAuthority } from '../support/certificates.ts';
import { startRawUpstream } from '../support/upstream.ts';
import {
  approvalId,
  askingOf,
  channelOf,
  contextWith,
  digestOf,
  messageOf,
  nowMs,
  send,
  transportWith,
} from './lab.ts';

interface Mail {
  readonly raw: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly isEncrypted: boolean;
  readonly user: string | undefined;
}

interface MailServer {
  readonly port: number;
  readonly mails: readonly Mail[];
  /** Passwords that were presented, right or wrong. */
  readonly passwords: readonly string[];
}

const password = 'correct horse/battery@staple';
const userInfo = `postern:${encodeURIComponent(password)}@`;

/** A mail server that knows one user. */
async function startMailServer(t: Test, options: SMTPServerOptions = {}): Promise<MailServer> {
  const mails: Mail[] = [];
  const passwords: string[] = [];
  const { certPem, keyPem } = testAuthority().issue();
  const server = new SMTPServer({
    cert: certPem,
    key: keyPem,
    authOptional: true,
    logger: false,
    onAuth({ username, password: sent }, _session, done) {
      const presented = sent ?? '';
      passwords.push(presented);
      if (username === 'postern' && presented === password) done(null, { user: username });
      else done(new Error(`no: ${presented}`));
    },
    onData(stream, session: SMTPServerSession, done) {
      stream.toArray().then((chunks) => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          raw: Buffer.concat(chunks).toString(),
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isEncrypted: session.secure,
          user: session.user,
        });
        done();
      }, done);
    },
    ...options,
  });
  // A client that leaves over TLS is what some tests are about.
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  await once(server.server, 'listening');
  return { port: (server.server.address() as AddressInfo).port, mails, passwords };
}

/** Fields of the head of a mail or of one of its parts, unfolded, in the order in which they stand. */
function readHead(raw: string): { fields: [name: string, value: string][]; body: string } {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  return {
    fields: lines.map((it) => [
      it.slice(0, it.indexOf(':')).toLowerCase(),
      it.slice(it.indexOf(':') + 1).trim(),
    ]),
    body: rest.join('\r\n\r\n'),
  };
}

const fieldOf = (raw: string, name: string): string | undefined =>
  readHead(raw).fields.find(([it]) => it === name)?.[1];

/** The parts of a mail of several, by their type, with their coding taken off. */
function partsOf(raw: string): Map<string, string> {
  const boundary = /boundary="([^"]+)"/.exec(raw)?.[1] ?? '';
  const parts = raw.split(`--${boundary}`).slice(1, -1);
  return new Map(
    parts.map((part) => {
      const { fields, body } = readHead(part.replace(/^\r\n/, ''));
      const [, type = ''] = fields.find(([name]) => name === 'content-type') ?? [];
      const [, coding = ''] = fields.find(([name]) => name === 'content-transfer-encoding') ?? [];
      return [type.split(';')[0] ?? '', decode(body, coding)];
    }),
  );
}

function decode(text: string, coding: string): string {
  if (coding === 'base64') return Buffer.from(text, 'base64').toString();
  if (coding !== 'quoted-printable') return text;
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

const mailTo = (url: string, fields: Readonly<Record<string, unknown>> = {}) =>
  channelOf('email', url, fields);

t.test('a mail arrives over TLS, with text and HTML, after the password', async (t) => {
  for (const scheme of ['smtps', 'smtp']) {
    const server = await startMailServer(t, { secure: scheme === 'smtps' });
    const channel = mailTo(`${scheme}://${userInfo}localhost:${server.port}`, {
      to: ['sec@acme.test', 'Ana <ana@acme.test>'],
    });
    t.same(await send(messageOf(), channel), { kind: 'delivered' }, scheme);
    const [mail] = server.mails;
    t.match(mail, {
      from: 'postern@acme.test',
      to: ['sec@acme.test', 'ana@acme.test'],
      isEncrypted: true,
      user: 'postern',
    });
    t.strictSame(server.passwords, [password]);
    const raw = mail?.raw ?? '';
    t.equal(fieldOf(raw, 'subject'), '[Postern] HIGH: Call denied (support-bot)');
    t.equal(fieldOf(raw, 'auto-submitted'), 'auto-generated');
    t.equal(fieldOf(raw, 'message-id'), '<msg_1@acme.test>');
    t.equal(fieldOf(raw, 'date'), new Date(nowMs).toUTCString().replace('GMT', '+0000'));
    t.match(fieldOf(raw, 'content-type'), /^multipart\/alternative/);
    const parts = partsOf(raw);
    t.match(
      parts.get('text/plain'),
      /HIGH: Call denied[\s\S]*support-bot may not delete[\s\S]*Reasons: +POLICY_DENY/,
    );
    t.match(parts.get('text/html'), /<h2>HIGH: Call denied<\/h2>[\s\S]*<td>support-bot<\/td>/);
  }
});

t.test('no password and no notice goes over a line that anybody can read', async (t) => {
  const server = await startMailServer(t, {
    hideSTARTTLS: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
  });
  const url = `localhost:${server.port}`;
  t.match(
    await send(messageOf(), mailTo(`smtp://${userInfo}${url}`)),
    { kind: 'retry' },
    'with a password never',
  );
  t.strictSame([...server.mails, ...server.passwords], []);
  t.same(
    await send(messageOf(), mailTo(`smtp://${url}`)),
    { kind: 'delivered' },
    'a relay inside, without one',
  );
  t.match(server.mails, [{ isEncrypted: false, user: undefined }]);
});

t.test('a relay inside is spoken to in TLS where it offers that', async (t) => {
  const server = await startMailServer(t);
  t.same(await send(messageOf(), mailTo(`smtp://localhost:${server.port}`)), { kind: 'delivered' });
  t.match(server.mails, [{ isEncrypted: true }]);
});

t.test('a certificate that is not that of the server ends it before the password', async (t) => {
  const { certPem, keyPem } = testAuthority().issue({ names: ['other.example'] });
  for (const scheme of ['smtps', 'smtp']) {
    const server = await startMailServer(t, { secure: scheme === 'smtps', cert: certPem, key: keyPem });
    const url = `${scheme}://${userInfo}localhost:${server.port}`;
    t.match(await send(messageOf(), mailTo(url)), { kind: 'retry', reason: String }, scheme);
    const transport = transportWith({ roots: [] });
    t.match(await send(messageOf(), mailTo(url), { transport }), { kind: 'retry' }, 'an unknown authority');
    t.strictSame([...server.mails, ...server.passwords], []);
  }
});

t.test('a wrong password is tried again slowly, and told nobody', async (t) => {
  const server = await startMailServer(t);
  const channel = mailTo(`smtp://postern:hunter2@localhost:${server.port}`);
  const outcome = await send(messageOf(), channel);
  t.match(outcome, { kind: 'retry', afterMs: 900_000 });
  t.strictSame(server.passwords, ['hunter2']);
  t.notMatch(JSON.stringify(outcome), 'hunter2');
});

t.test('a server that knows no password is not given a mail by nobody', async (t) => {
  const server = await startMailServer(t, { disabledCommands: ['AUTH'] });
  t.match(await send(messageOf(), mailTo(`smtp://${userInfo}localhost:${server.port}`)), { kind: 'retry' });
  t.strictSame(server.mails, []);
});

t.test('what the server answers says whether it is tried again', async (t) => {
  const refusal = (responseCode: number) => Object.assign(new Error('postern:hunter2'), { responseCode });
  const cases: readonly [name: string, options: SMTPServerOptions, outcome: object][] = [
    [
      'a mailbox that is not there',
      { onRcptTo: (_address, _session, done) => done(refusal(550)) },
      { kind: 'refused', reason: /550/ },
    ],
    [
      'a mailbox that is full for now',
      { onRcptTo: (_address, _session, done) => done(refusal(452)) },
      { kind: 'retry', reason: /452/ },
    ],
    [
      'a sender that is not taken',
      { onMailFrom: (_address, _session, done) => done(refusal(553)) },
      { kind: 'refused', reason: /553/ },
    ],
    [
      'a greylist',
      { onData: (stream, _session, done) => stream.resume().on('end', () => done(refusal(451))) },
      { kind: 'retry', reason: /451/ },
    ],
    [
      'a mail that is not taken',
      { onData: (stream, _session, done) => stream.resume().on('end', () => done(refusal(554))) },
      { kind: 'refused', reason: /554/ },
    ],
    [
      'one of two recipients',
      { onRcptTo: ({ address }, _session, done) => done(address === 'sec@acme.test' ? null : refusal(550)) },
      { kind: 'delivered', note: /1 of the recipients/ },
    ],
  ];
  for (const [name, options, want] of cases) {
    const server = await startMailServer(t, options);
    const channel = mailTo(`smtp://localhost:${server.port}`, { to: ['sec@acme.test', 'gone@acme.test'] });
    const outcome = await send(messageOf(), channel);
    t.match(outcome, want, name);
    t.notMatch(JSON.stringify(outcome), 'hunter2', name);
  }
});

t.test('a server that hangs, closes or talks nonsense is tried again', async (t) => {
  const closing = await startRawUpstream(t, (socket) => socket.destroy(), { tls: false });
  const rubbish = await startRawUpstream(t, (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'), {
    tls: false,
  });
  const flood = await startRawUpstream(t, (socket) => socket.write('220-'.padEnd(1_000_000, 'x')), {
    tls: false,
  });
  for (const [name, { port }] of Object.entries({ closing, rubbish, flood }))
    t.match(await send(messageOf(), mailTo(`smtp://127.0.0.1:${port}`)), { kind: 'retry' }, name);
  const reached = Promise.withResolvers<void>();
  const silent = await startRawUpstream(t, () => reached.resolve(), { tls: false });
  const leaving = new AbortController();
  const sending = send(messageOf(), mailTo(`smtp://127.0.0.1:${silent.port}`), { signal: leaving.signal });
  await reached.promise;
  leaving.abort();
  t.match(await sending, { kind: 'retry' }, 'and is left when the gateway ends');
});

t.test('a server that answers a letter at a time is not awaited for ever', async (t) => {
  const trickle = await startRawUpstream(
    t,
    (socket) => {
      const timer = setInterval(() => socket.write('x'), 20);
      socket.once('close', () => clearInterval(timer));
    },
    { tls: false },
  );
  const silent = await startRawUpstream(t, () => {}, { tls: false });
  const silentOnce = { sendMs: 60_000, stepMs: 200 };
  const cases = [
    { port: trickle.port, timeouts: { sendMs: 300, stepMs: 60_000 } },
    { port: trickle.port, timeouts: silentOnce },
    { port: silent.port, timeouts: silentOnce },
  ];
  for (const { port, timeouts } of cases) {
    const channel = mailTo(`smtp://127.0.0.1:${port}`);
    t.match(await createEmail(timeouts).send(messageOf(), channel, contextWith()), { kind: 'retry' });
  }
});

t.test('mail servers pass the guard', async (t) => {
  const server = await startMailServer(t);
  const blocked = { kind: 'refused', reason: /not allowed/ };
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    t.match(
      await send(messageOf(), mailTo(`smtp://${host}:${server.port}`, { allow_private: false })),
      blocked,
      host,
    );
  const ownListeners = () => [{ address: '127.0.0.1', port: server.port }];
  t.match(
    await send(messageOf(), mailTo(`smtp://localhost:${server.port}`), {
      transport: transportWith({ ownListeners }),
    }),
    blocked,
    'allow_private does not lead to the gateway itself',
  );
  t.strictSame(server.mails, []);
});

t.test('names put no field into the head, and no line into the dialogue', async (t) => {
  const server = await startMailServer(t);
  const channel = mailTo(`smtp://localhost:${server.port}`);
  const evil = 'bot\r\nBcc: evil@evil.example\r\n\r\n.\r\nMAIL FROM:<evil@evil.example>\r\n';
  const ids = ['a\r\nBcc: x@evil.example', 'a> <b', 'x'.repeat(500)];
  await send(
    messageOf({
      agentName: ownName(evil),
      toolName: ownName(evil),
      summary: ownName(evil),
      data: { trace_id: evil, operation: evil },
    }),
    channel,
  );
  for (const messageId of ids) await send(messageOf({}, { messageId }), channel);
  t.equal(server.mails.length, 4);
  const expected = [
    'auto-submitted',
    'content-type',
    'date',
    'from',
    'message-id',
    'mime-version',
    'subject',
    'to',
    'x-auto-response-suppress',
  ];
  for (const { raw, to } of server.mails) {
    t.strictSame(
      readHead(raw)
        .fields.map(([name]) => name)
        .sort(),
      expected,
    );
    t.strictSame(to, ['sec@acme.test']);
    t.match(fieldOf(raw, 'message-id'), /^<[\w-]+@acme\.test>$/);
  }
  t.match(
    partsOf(server.mails[0]?.raw ?? '').get('text/plain'),
    /Agent: +bot Bcc: evil@evil\.example \. MAIL FROM/,
  );
});

t.test('no name stands for something else in a subject', async (t) => {
  const server = await startMailServer(t);
  const hidden = `ok =?utf-8?B?${Buffer.from('\u202e") - RESOLVED').toString('base64')}?= x`;
  await send(messageOf({ agentName: ownName(hidden) }), mailTo(`smtp://localhost:${server.port}`));
  t.notMatch(fieldOf(server.mails[0]?.raw ?? '', 'subject'), /=\?utf-8\?B/i);
});

t.test('letters of all alphabets arrive', async (t) => {
  const server = await startMailServer(t);
  await send(
    messageOf({ agentName: ownName('Bärbel 小林 😀'), summary: ownName('Größe: 5 €') }),
    mailTo(`smtp://localhost:${server.port}`),
  );
  const [mail] = server.mails;
  t.match(fieldOf(mail?.raw ?? '', 'subject'), /^[\x20-\x7e]*=\?UTF-8\?[\x20-\x7e]*$/, 'the head is ASCII');
  t.match(partsOf(mail?.raw ?? '').get('text/plain'), /Größe: 5 €[\s\S]*Bärbel 小林 😀/);
});

t.test('digests and approvals read well', async (t) => {
  const server = await startMailServer(t);
  const channel = mailTo(`smtp://localhost:${server.port}`);
  await send(digestOf(), channel);
  await send(askingOf(), channel, { controlUrl: undefined });
  const [digest, asking] = server.mails.map(({ raw }) => ({
    subject: fieldOf(raw, 'subject'),
    text: partsOf(raw).get('text/plain'),
  }));
  t.match(digest, {
    subject: /37 calls denied/,
    text: /37 from 2026-11-22 20:14:30 UTC to 2026-11-22 20:15:29 UTC/,
  });
  t.match(asking, { subject: /Approval needed/, text: `postern approval approve ${approvalId}` });
});
