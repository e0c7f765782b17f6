import { hash } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import type { NotificationConfig } from '../../config/schema.ts';
import { GatewayError } from '../../core/errors.ts';
import { type Brief, plain, toBrief } from '../brief.ts';
import type { Channel, DeliveryOutcome, SendContext } from '../channel.ts';
import { mendingMs, outcomeOfFailure } from '../outcome.ts';

/*
 * Sends mail by SMTP. `smtps` is TLS from the start, and `smtp` must change to it (STARTTLS). So no password
 * and no notice goes over a line that anybody can read. The one exemption is a relay without a password at a
 * channel with `allow_private`, where TLS is taken if it is offered.
 */

interface MailTimeouts {
  /** Milliseconds from the connection to the last answer. */
  readonly sendMs: number;
  /** Milliseconds that the server may be silent. */
  readonly stepMs: number;
}

const defaultTimeouts: MailTimeouts = { sendMs: 60_000, stepMs: 15_000 };

const escapeHtml = (text: string): string => text.replace(/[&<>"'`]/g, (it) => `&#${it.charCodeAt(0)};`);

export function toMailText({ title, severity, summary, facts, hint }: Brief, controlUrl?: string): string {
  const width = Math.max(0, ...facts.map(({ label }) => label.length)) + 1;
  return [
    `${severity}: ${title}`,
    '',
    summary,
    '',
    ...facts.map(({ label, value }) => `${`${label}:`.padEnd(width)} ${value}`),
    ...(hint === undefined ? [] : ['', `Decide: ${hint}`]),
    '',
    '-- ',
    controlUrl === undefined ? 'Postern' : `Postern at ${controlUrl}`,
    '',
  ].join('\n');
}

export function toHtml({ title, severity, summary, facts, hint }: Brief, controlUrl?: string): string {
  const rows = facts.map(
    ({ label, value }) =>
      `<tr><td style="padding:2px 12px 2px 0;color:#666">${escapeHtml(label)}</td><td>${escapeHtml(value)}</td></tr>`,
  );
  const from = controlUrl === undefined ? 'Postern' : `Postern at ${escapeHtml(controlUrl)}`;
  return [
    '<!doctype html><html><body style="font-family:sans-serif">',
    `<h2>${severity}: ${escapeHtml(title)}</h2>`,
    `<p>${escapeHtml(summary)}</p>`,
    `<table>${rows.join('')}</table>`,
    ...(hint === undefined ? [] : [`<p>Decide: <code>${escapeHtml(hint)}</code></p>`]),
    `<p style="color:#666">${from}</p>`,
    '</body></html>',
  ].join('\n');
}

function parseMailUrl(text: string) {
  const url = new URL(text);
  const isSecure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  return {
    host,
    port: url.port === '' ? (isSecure ? 465 : 587) : Number(url.port),
    isSecure,
    auth: user === '' ? undefined : { user, pass },
  };
}

/** Returns the Message-ID. It is the same for each attempt, so that readers show several mails as one. */
function messageIdOf(messageId: string, from: string): string {
  const left = /^[\w+=-]{1,128}$/.test(messageId) ? messageId : hash('sha256', messageId);
  const domain = /@([A-Za-z0-9.-]{1,253})>?$/.exec(from)?.[1] ?? 'postern.invalid';
  return `<${left}@${domain}>`;
}

interface Sending {
  readonly server: ReturnType<typeof parseMailUrl>;
  readonly channel: NotificationConfig;
  readonly context: SendContext;
  readonly signal: AbortSignal;
  readonly stepMs: number;
}

async function mailerFor({ server, channel, context, signal, stepMs }: Sending) {
  // The first mail loads the library, since most daemons send none.
  const { createTransport } = await import('nodemailer');
  const { host, port, isSecure, auth } = server;
  const mayBePlain = channel.allowPrivate && auth === undefined;
  const open = (): Promise<Socket> => context.transport.connect(host, port, channel, signal);
  return createTransport({
    host,
    port,
    secure: isSecure,
    ...(isSecure ? {} : mayBePlain ? { opportunisticTLS: true } : { requireTLS: true }),
    // AUTH is tried also where the server does not offer it. It then refuses with a reason, instead of taking
    // a mail by nobody.
    ...(auth ? { auth, forceAuth: true } : {}),
    tls: {
      ca: [...context.transport.roots],
      minVersion: 'TLSv1.2',
      // This is set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
      rejectUnauthorized: true,
      ...(isIP(host) === 0 ? { servername: host } : {}),
    },
    connectionTimeout: stepMs,
    greetingTimeout: stepMs,
    socketTimeout: stepMs,
    maxResponseSize: 65_536,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: (
      _options: unknown,
      opened: (error: Error | null, socket?: { connection: Socket }) => void,
    ) => {
      open().then(
        (connection) => opened(null, { connection }),
        (error: Error) => opened(error),
      );
    },
  });
}

export const createEmail = ({ sendMs, stepMs }: MailTimeouts): Channel => ({
  type: 'email',
  async send(message, channel, context) {
    try {
      const server = parseMailUrl(channel.url);
      const brief = toBrief(message);
      const from = channel.from ?? `postern@${server.host}`;
      const signal = AbortSignal.any([context.signal, AbortSignal.timeout(sendMs)]);
      const mailer = await mailerFor({ server, channel, context, signal, stepMs });
      const sent = await mailer.sendMail({
        from,
        to: [...channel.to],
        subject: subjectOf(brief, message.notice.agentName),
        text: toMailText(brief, context.controlUrl),
        html: toHtml(brief, context.controlUrl),
        messageId: messageIdOf(message.messageId, from),
        date: new Date(context.nowMs),
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        signal,
      });
      return sent.rejected.length === 0
        ? { kind: 'delivered' }
        : { kind: 'delivered', note: `${sent.rejected.length} of the recipients were refused.` };
    } catch (error) {
      return outcomeOfMail(error);
    }
  },
});

export const email = createEmail(defaultTimeouts);

function subjectOf({ severity, title }: Brief, agentName: string | null): string {
  // A name might hold an encoded word (RFC 2047), and readers show what that stands for.
  const agent = plain(agentName ?? '', 80).replaceAll('=?', '= ?');
  return `[Postern] ${severity}: ${title}${agent === '' ? '' : ` (${agent})`}`;
}

/**
 * Returns the outcome of a failed mail by the code of the answer alone. The answer's text is the server's,
 * and the command may hold the password.
 */
function outcomeOfMail(error: unknown): DeliveryOutcome {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  // Errors of the mailer have codes of their own; all other errors are the gateway's.
  if (error instanceof GatewayError || typeof code !== 'string') return outcomeOfFailure(error);
  if (code === 'EAUTH' || code === 'ENOAUTH')
    return {
      kind: 'retry',
      reason: 'The mail server does not take the user and password.',
      afterMs: mendingMs,
    };
  if (code === 'ETLS' || code === 'EREQUIRETLS')
    return { kind: 'retry', reason: 'TLS with the mail server failed.', afterMs: mendingMs };
  if (typeof responseCode !== 'number' || responseCode < 100)
    return {
      kind: 'retry',
      reason: 'The mail server did not take the mail in time, or closed the connection.',
    };
  const reason = `The mail server answered ${responseCode}.`;
  return responseCode >= 500 ? { kind: 'refused', reason } : { kind: 'retry', reason };
}
