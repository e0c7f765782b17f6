import type { NotificationConfig } from '../config/schema.ts';
import { GatewayError } from '../core/errors.ts';
import type { DeliveryOutcome, SendContext } from './channel.ts';

/*
 * Decides what an answer, or its absence, means for a message. Reasons end up in logs and in the list of
 * failed messages, so they consist of status codes and the gateway's own words.
 */

/** Milliseconds that a destination may ask to wait. */
export const retryAfterMsMax = 3_600_000;
/** Milliseconds to wait after a failure that somebody must mend: a changed token, an expired certificate. */
export const mendingMs = 900_000;

const transient: ReadonlySet<number> = new Set([408, 425, 429]);
/** Statuses that end when somebody mends a token or a webhook. What waits must not be lost for them. */
const mendable: ReadonlySet<number> = new Set([401, 403, 404, 407]);

/** Sends the request that `make` puts together, and returns what became of it. Never rejects. */
export async function postTo(
  channel: NotificationConfig,
  { transport, nowMs, signal }: SendContext,
  make: () => {
    readonly url?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
): Promise<DeliveryOutcome> {
  try {
    const { status, headers } = await transport.post({ url: channel.url, ...make() }, channel, signal);
    return outcomeOfAnswer(status, headers['retry-after'], nowMs);
  } catch (error) {
    return outcomeOfFailure(error);
  }
}

export function outcomeOfAnswer(
  status: number,
  retryAfter: string | undefined,
  nowMs: number,
): DeliveryOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const reason = `The destination answered ${status}.`;
  if (status >= 500 || transient.has(status)) {
    const afterMs = parseRetryAfter(retryAfter, nowMs);
    return { kind: 'retry', reason, ...(afterMs === undefined ? {} : { afterMs }) };
  }
  if (mendable.has(status)) return { kind: 'retry', reason, afterMs: mendingMs };
  if (status >= 300 && status < 400)
    return { kind: 'refused', reason: `The destination answered ${status}; redirects are not followed.` };
  return { kind: 'refused', reason };
}

/**
 * Returns a `Retry-After` (seconds or a date; RFC 9110, 10.2.3) in milliseconds, up to the bound; undefined
 * where it is neither.
 */
function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value.length > 64) return undefined;
  const text = value.trim();
  // Discord sends fractions of seconds.
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : dateOf(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, Math.ceil(ms)), retryAfterMsMax);
}

/** Returns the time of a date. Without the zone, `Date.parse` would take any text with a digit for one. */
const dateOf = (text: string): number => (/ GMT$/.test(text) ? Date.parse(text) : Number.NaN);

/**
 * Codes for a certificate of another host. To wait does not help, and to go on asking would tell that host
 * when notices are sent.
 */
const othersCertificate: ReadonlySet<string> = new Set(['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH']);

export function outcomeOfFailure(error: unknown): DeliveryOutcome {
  if (!(error instanceof GatewayError)) return { kind: 'retry', reason: unexpected(error) };
  if (error.code === 'INTERNAL') return { kind: 'retry', reason: unexpected(error.cause) };
  if (error.code === 'EGRESS_BLOCKED') return { kind: 'refused', reason: blockedReason };
  if (error.code === 'VALIDATION_FAILED')
    return { kind: 'refused', reason: 'The URL of the channel is not valid.' };
  if (error.code !== 'UPSTREAM_TLS') return { kind: 'retry', reason: error.message };
  const code = error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException).code : undefined;
  return othersCertificate.has(code ?? '')
    ? { kind: 'refused', reason: error.message }
    : { kind: 'retry', reason: error.message, afterMs: mendingMs };
}

/**
 * Returns the reason for an unforeseen failure by its code or name, which are words of programs. Its message
 * may quote anything.
 */
function unexpected(error: unknown): string {
  const { code, name } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const word = [code, name].find((it) => it !== undefined && /^[A-Za-z0-9_]{1,64}$/.test(it));
  return word === undefined ? 'The notice could not be sent.' : `The notice could not be sent (${word}).`;
}

const blockedReason =
  'The address of the destination is not allowed: it is private, that of this gateway, or denied. allow_private of the channel exempts private ones.';
