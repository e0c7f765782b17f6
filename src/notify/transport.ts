import type { Readable } from 'node:stream';
import type { NotificationConfig } from '../config/schema.ts';
import { GatewayError } from '../core/errors.ts';
import { kept } from '../util/kept.ts';
import { Dialer, type DialerOptions } from '../wire/client/connect.ts';
import { timedOut } from '../wire/client/failures.ts';
import { type Connect, createHttpClient, type HttpClient } from '../wire/client/http-client.ts';
import { type AddressGuardOptions, createGuard } from '../wire/client/reach/guard.ts';
import type { Transport } from './channel.ts';

/*
 * Sends notices out: a name is resolved once, every address judged, that very address dialled, TLS verified,
 * and no redirect followed. What administrators exempt for agents (`upstream.allow_private`, `allowed_ports`)
 * does not hold here, and the other way round. A channel says for itself whether it may lead to a private
 * address.
 */

export interface TransportOptions extends Omit<DialerOptions, 'guard'> {
  /** Hosts and addresses of `upstream.deny`, to which no notice goes either. */
  readonly deny: readonly string[];
  readonly ownListeners: AddressGuardOptions['ownListeners'];
  /** Milliseconds from the beginning to the head of the answer. */
  readonly timeoutMs?: number;
}

const timeoutMsDefault = 15_000;
const answerBytesMax = 4096;
const everywhere = ['0.0.0.0/0', '::/0'];

/** The dialer and the HTTP client of all channels with the same `allowPrivate`. */
interface Ways {
  readonly dialer: Dialer;
  readonly send: HttpClient;
}

export function createTransport(options: TransportOptions): Transport {
  const { deny, ownListeners, timeoutMs = timeoutMsDefault, ...dialing } = options;
  const known = new Map<boolean, Ways>();

  const waysOf = ({ allowPrivate }: Pick<NotificationConfig, 'allowPrivate'>): Ways =>
    kept(known, allowPrivate, () => {
      const guard = createGuard({
        allowPrivate: allowPrivate ? everywhere : [],
        deny,
        allowedPorts: [],
        ownListeners,
      });
      const dialer = new Dialer({ ...dialing, guard });
      const connect: Connect = (to) => dialer.dial(to, 'http/1.1');
      return { dialer, send: createHttpClient({ connect, idleTimeoutMs: timeoutMs }) };
    });

  return {
    roots: dialing.roots,
    async post({ headers, ...request }, channel, signal) {
      const late = AbortSignal.timeout(timeoutMs);
      try {
        const answer = await waysOf(channel).send({
          ...request,
          method: 'POST',
          headers: { 'User-Agent': 'Postern', ...headers },
          signal: AbortSignal.any([signal, late]),
        });
        drain(answer.body);
        const fields = Object.entries(answer.headers).map(
          ([name, value]) => [name, [value].flat()[0]] as const,
        );
        return { status: answer.status, headers: Object.fromEntries(fields) };
      } catch (error) {
        if (signal.aborted) throw givenUp(error);
        throw late.aborted ? timedOut('did not answer in time') : error;
      }
    },
    async connect(host, port, channel, signal) {
      if (signal.aborted) throw givenUp(signal.reason);
      const socket = await waysOf(channel).dialer.dial({ scheme: 'tcp', host, port }, 'http/1.1');
      if (!signal.aborted) return socket;
      socket.destroy();
      throw givenUp(signal.reason);
    },
  };
}

const givenUp = (cause: unknown): GatewayError =>
  new GatewayError('UPSTREAM_TIMEOUT', 'The sending was given up.', {}, cause);

/** Reads and drops a body up to a bound, so that the destination can end in order. The head has said all. */
function drain(body: Readable): void {
  let bytes = 0;
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > answerBytesMax) body.destroy();
  });
}
