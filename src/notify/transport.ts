import http from 'node:http';
import https from 'node:https';
import type { NotificationConfig } from '../config/schema.ts';
import { GatewayError } from '../core/errors.ts';
import { parseDescribed } from '../core/target.ts';
import { createDialer, type Dialer, type DialerOptions } from '../wire/client/connect.ts';
import { timedOut, toExchangeFailure } from '../wire/client/failures.ts';
import { type AddressGuardOptions, createGuard } from '../wire/client/reach/guard.ts';
import type { Transport } from './channel.ts';

/*
 * How notices leave: resolved once, every address judged, that very address dialled, TLS verified, no redirect followed. What administrators
 * exempt for agents (`upstream.allow_private`, `allowed_ports`) does not hold here, and the other way round: a channel says for itself
 * whether it may lead to a private address.
 */

export interface TransportOptions extends Omit<DialerOptions, 'guard'> {
  /** As `upstream.deny`: nobody is told there either. */
  readonly deny: readonly string[];
  readonly ownListeners: AddressGuardOptions['ownListeners'];
  /** From the beginning to the head of the answer. */
  readonly timeoutMs?: number;
}

const timeoutMsDefault = 15_000;
const answerBytesMax = 4096;
const everywhere = ['0.0.0.0/0', '::/0'];

type Post = Parameters<Transport['post']>[0];
type Posted = Awaited<ReturnType<Transport['post']>>;

export function createTransport(options: TransportOptions): Transport {
  const { deny, ownListeners, timeoutMs = timeoutMsDefault, ...dialing } = options;
  const dialers = new Map<boolean, Dialer>();

  function dialerOf({ allowPrivate }: Pick<NotificationConfig, 'allowPrivate'>): Dialer {
    const standing = dialers.get(allowPrivate);
    if (standing) return standing;
    const guard = createGuard({
      allowPrivate: allowPrivate ? everywhere : [],
      deny,
      allowedPorts: [],
      ownListeners,
    });
    const dialer = createDialer({ ...dialing, guard });
    dialers.set(allowPrivate, dialer);
    return dialer;
  }

  return {
    roots: dialing.roots,
    async post(request, channel, signal) {
      const late = AbortSignal.timeout(timeoutMs);
      try {
        return await exchange(dialerOf(channel), request, AbortSignal.any([signal, late]));
      } catch (error) {
        if (signal.aborted) throw givenUp(error);
        throw late.aborted ? timedOut('did not answer in time') : toExchangeFailure(error, false);
      }
    },
    async connect(host, port, channel, signal) {
      if (signal.aborted) throw givenUp(signal.reason);
      const socket = await dialerOf(channel).dial({ scheme: 'tcp', host, port }, 'http/1.1');
      if (!signal.aborted) return socket;
      socket.destroy();
      throw givenUp(signal.reason);
    },
  };
}

const givenUp = (cause: unknown): GatewayError =>
  new GatewayError('UPSTREAM_TIMEOUT', 'The sending was given up.', {}, cause);

/** Resolves with the head of the answer; what follows is read to a bound, so that the destination can end in order. */
function exchange(dialer: Dialer, { url, headers, body }: Post, signal: AbortSignal): Promise<Posted> {
  const { scheme, host, port } = parseDescribed(url);
  if (scheme !== 'http' && scheme !== 'https')
    throw new GatewayError('VALIDATION_FAILED', 'The URL is not one of the web.');
  const { promise, resolve, reject } = Promise.withResolvers<Posted>();
  const createConnection: http.RequestOptions['createConnection'] = (_options, opened) => {
    // A request that was aborted meanwhile closes it.
    dialer.dial({ scheme, host, port }, 'http/1.1').then(
      (socket) => opened(null, socket),
      (error: Error) => opened(error, undefined as never),
    );
    return undefined;
  };
  const { request } = scheme === 'https' ? https : http;
  const asked = request(url, {
    method: 'POST',
    headers: { 'User-Agent': 'Postern', ...headers },
    signal,
    createConnection,
  });
  asked.on('error', reject);
  asked.once('response', (answer) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > answerBytesMax) answer.destroy();
    });
    // The rest of the answer changes nothing: the head has said it.
    answer.on('error', () => {});
    const fields = Object.entries(answer.headers).map(([name, value]) => [name, [value].flat()[0]] as const);
    resolve({ status: answer.statusCode ?? 0, headers: Object.fromEntries(fields) });
  });
  asked.end(body);
  return promise;
}
