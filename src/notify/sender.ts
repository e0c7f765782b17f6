import type { NotificationConfig } from '../config/schema.ts';
import type { ChannelType } from '../config/sections/notifications.ts';
import type { Log } from '../core/log.ts';
import { ownName } from '../core/safe-name.ts';
import type { Channel, Transport } from './channel.ts';
import type { Message } from './notice.ts';
import { released, type SendOutcome } from './settlement.ts';

export interface SenderOptions {
  readonly channels: ReadonlyMap<ChannelType, Channel>;
  readonly controlUrl: () => string | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly now: () => number;
  readonly sendTimeoutMs: number;
}

/** Gives one message to its channel, within its time. It never rejects. */
export class Sender {
  /** The transport by which messages are sent; undefined until it is set. */
  transport: Transport | undefined;
  readonly #options: SenderOptions;
  readonly #leaving = new AbortController();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Cuts off all sends. */
  abort(): void {
    this.#leaving.abort();
  }

  async send(message: Message, config: NotificationConfig): Promise<SendOutcome> {
    const { channels, controlUrl, log, now, sendTimeoutMs } = this.#options;
    const channel = channels.get(config.type);
    const { transport } = this;
    if (!channel || !transport) return { kind: 'refused', reason: 'there is no such kind of channel' };
    const leaving = this.#leaving.signal;
    const late = AbortSignal.timeout(sendTimeoutMs);
    const signal = AbortSignal.any([late, leaving]);
    const context = { transport, nowMs: now(), signal, controlUrl: controlUrl() };
    try {
      const outcome = await inTime(channel.send(message, config, context), signal);
      if (outcome.kind === 'delivered' && outcome.note !== undefined)
        log.warn({ channel: config.name, note: ownName(outcome.note) }, 'a notice has not come to all');
      // A send that the daemon's end has cut off says nothing of the channel.
      return leaving.aborted && outcome.kind !== 'delivered' ? released : outcome;
    } catch (error) {
      if (leaving.aborted) return released;
      if (late.aborted) return { kind: 'retry', reason: 'it did not answer in time' };
      // The error's message may quote a URL, which may be a secret.
      const name = ownName(error instanceof Error ? error.name : 'unknown');
      log.error({ channel: config.name, error: name }, 'a channel failed');
      return { kind: 'retry', reason: 'the channel failed' };
    }
  }
}

/** Rejects when the signal aborts, so that a channel that does not listen to it holds up nobody. */
async function inTime<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  // A later answer is of no interest.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
