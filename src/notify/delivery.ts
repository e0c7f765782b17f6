import type { NotificationConfig } from '../config/schema.ts';
import type { ChannelType } from '../config/sections/notifications.ts';
import type { Log } from '../core/log.ts';
import { ownName } from '../core/safe-name.ts';
import type { ChannelClaim, ClaimedMessage, Settlement, Store } from '../state/store.ts';
import type { Channel, DeliveryOutcome, Transport } from './channel.ts';
import type { Message, Notice } from './notice.ts';

/*
 * Takes messages out of the queue and gives them to their channels. Several daemons do it at once, and one of them
 * claims a message. It comes back to all when that one has not said in time what became of it. No destination waits
 * for another: each has a few sends of its own, and a bounded share of all.
 */

export interface Timings {
  /** How soon messages are seen that others have put into the queue. */
  readonly pollMs: number;
  /** One send, connection included. */
  readonly sendTimeoutMs: number;
  /** Longer than a send and what becomes of it take. */
  readonly leaseMs: number;
  /** The first retry comes within this time, each further one within twice as long, up to the longest. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** A channel that fails is left alone for so long, then twice as long, up to the longest. */
  readonly pauseMinMs: number;
  readonly pauseMaxMs: number;
  /** The longest wait that a destination may ask for. */
  readonly retryAfterMaxMs: number;
  readonly giveUpAfterMs: number;
}

const minute = 60_000;
const hour = 60 * minute;

export const timings: Timings = {
  pollMs: 1_000,
  sendTimeoutMs: 20_000,
  leaseMs: 45_000,
  retryMinMs: 5_000,
  retryMaxMs: hour,
  pauseMinMs: 15_000,
  pauseMaxMs: 5 * minute,
  retryAfterMaxMs: hour,
  giveUpAfterMs: 24 * hour,
};

/** The rate of one destination. People's channels take one message a second; programs are made for more. */
interface Rate {
  readonly intervalMs: number;
  readonly burst: number;
}

const forPeople: Rate = { intervalMs: 1_000, burst: 10 };
const forPrograms: Rate = { intervalMs: 10, burst: 100 };

const rateOf = (type: ChannelType): Rate => (type === 'webhook' || type === 'siem' ? forPrograms : forPeople);

/** Failures in a row after which a channel is left alone. */
export const pauseFrom = 5;
export const sendsPerChannelMax = 4;
export const sendsMax = 64;
const settleRetryMs = 500;

type DeliveryStore = Pick<Store, 'claimMessages' | 'settleMessage'>;

export interface DeliveryOptions {
  readonly store: DeliveryStore;
  readonly channels: ReadonlyMap<ChannelType, Channel>;
  readonly controlUrl: () => string | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly now: () => number;
  /** 0 to 1, for the jitter. */
  readonly random: () => number;
  readonly timings: Timings;
}

export interface Delivery {
  /** From now on to these channels, in this way. */
  use(configs: readonly NotificationConfig[], transport: Transport): void;
  start(): void;
  /** There is something in the queue. */
  nudge(): void;
  /** Sends one message, past the queue. */
  send(message: Message, config: NotificationConfig): Promise<DeliveryOutcome>;
  /** Claims nothing more; what is being sent may end for at most `graceMs`, and the rest is left to others. */
  drain(graceMs: number): Promise<void>;
}

export function createDelivery(options: DeliveryOptions): Delivery {
  const { store, channels, controlUrl, log, now, random } = options;
  const { pollMs, sendTimeoutMs, leaseMs, giveUpAfterMs } = options.timings;
  let configs: ReadonlyMap<string, NotificationConfig> = new Map();
  let transport: Transport | undefined;
  const running = new Map<string, number>();
  const sends = new Set<Promise<void>>();
  const leaving = new AbortController();
  let turn = 0;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  let isNudged = false;
  let isStarted = false;
  let isDraining = false;
  let isAway = false;

  /** Claims messages for free places. The order changes, so that no channel has all of them. */
  function claims(): ChannelClaim[] {
    const all = [...configs.values()];
    turn = all.length === 0 ? 0 : (turn + 1) % all.length;
    let room = sendsMax - sends.size;
    const asked: ChannelClaim[] = [];
    for (const { name, tenantId, type } of [...all.slice(turn), ...all.slice(0, turn)]) {
      const limit = Math.min(room, sendsPerChannelMax - (running.get(name) ?? 0));
      if (limit <= 0) continue;
      room -= limit;
      asked.push({ name, owner: tenantId, limit, ...rateOf(type), probingMin: pauseFrom });
    }
    return asked;
  }

  async function claim(): Promise<number> {
    const asked = claims();
    if (asked.length === 0) return 0;
    const claimedAtMs = now();
    const messages = await store.claimMessages(asked, claimedAtMs, leaseMs);
    for (const message of messages) begin(message, claimedAtMs);
    return messages.length;
  }

  function begin(message: ClaimedMessage, claimedAtMs: number): void {
    const { channel } = message;
    running.set(channel, (running.get(channel) ?? 0) + 1);
    const sending = deliver(message, claimedAtMs).finally(() => {
      const left = (running.get(channel) ?? 1) - 1;
      if (left > 0) running.set(channel, left);
      else running.delete(channel);
      sends.delete(sending);
      nudge();
    });
    sends.add(sending);
  }

  async function deliver(message: ClaimedMessage, claimedAtMs: number): Promise<void> {
    const config = configs.get(message.channel);
    const outcome = config ? await sendOwn(message, config) : released;
    const settlement = toSettlement(message, claimedAtMs, outcome);
    if (settlement.outcome.kind === 'dead')
      log.warn({ channel: message.channel, reason: settlement.outcome.reason }, 'a notice is given up');
    await settle(settlement, claimedAtMs + leaseMs);
  }

  /** The channel may have been another tenant's when the message was made for it, or that of all. */
  async function sendOwn(message: ClaimedMessage, config: NotificationConfig) {
    if (config.tenantId !== null && config.tenantId !== message.tenantId) return notItsTenant;
    return send(toMessage(message), config);
  }

  async function send(
    message: Message,
    config: NotificationConfig,
  ): Promise<DeliveryOutcome | typeof released> {
    const channel = channels.get(config.type);
    if (!channel || !transport) return { kind: 'refused', reason: 'there is no such kind of channel' };
    const late = AbortSignal.timeout(sendTimeoutMs);
    const signal = AbortSignal.any([late, leaving.signal]);
    const context = { transport, nowMs: now(), signal, controlUrl: controlUrl() };
    try {
      const outcome = await inTime(channel.send(message, config, context), signal);
      if (outcome.kind === 'delivered' && outcome.note !== undefined)
        log.warn({ channel: config.name, note: ownName(outcome.note) }, 'a notice has not come to all');
      // A send that the end of the daemon cut off says nothing of the channel.
      return leaving.signal.aborted && outcome.kind !== 'delivered' ? released : outcome;
    } catch (error) {
      if (leaving.signal.aborted) return released;
      if (late.aborted) return { kind: 'retry', reason: 'it did not answer in time' };
      // Its message may quote a URL, which may be a secret.
      log.error(
        { channel: config.name, error: ownName(error instanceof Error ? error.name : 'unknown') },
        'a channel failed',
      );
      return { kind: 'retry', reason: 'the channel failed' };
    }
  }

  function toSettlement(
    { id, channel, attempts, queuedAtMs }: ClaimedMessage,
    claimedAtMs: number,
    outcome: DeliveryOutcome | typeof released,
  ): Settlement {
    const nowMs = now();
    const base = { id, channel, attempts, claimedAtMs, nowMs };
    if (outcome.kind === 'delivered' || outcome.kind === 'released') return { ...base, outcome };
    const { reason } = outcome;
    if (outcome.kind === 'refused') return { ...base, outcome: { kind: 'dead', reason, hasAnswered: true } };
    if (nowMs - queuedAtMs >= giveUpAfterMs)
      return { ...base, outcome: { kind: 'dead', reason, hasAnswered: false } };
    return { ...base, outcome: retry(attempts, outcome, nowMs) };
  }

  function retry(
    attempts: number,
    { reason, afterMs }: Extract<DeliveryOutcome, { kind: 'retry' }>,
    nowMs: number,
  ): Settlement['outcome'] {
    const { retryMinMs, retryMaxMs, pauseMinMs, pauseMaxMs, retryAfterMaxMs } = options.timings;
    // Full jitter: what failed together does not come again together.
    const delayMs = random() * Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(attempts - 1, 30));
    const askedMs = Math.min(Math.max(afterMs ?? 0, 0), retryAfterMaxMs);
    const pausedUntilMs = askedMs > 0 ? Math.ceil(nowMs + askedMs) : 0;
    const dueAtMs = Math.max(Math.ceil(nowMs + delayMs), pausedUntilMs);
    return { kind: 'retry', dueAtMs, reason, pausedUntilMs, pauseFrom, pauseMinMs, pauseMaxMs };
  }

  /** Settles the message while nobody else may claim it; after that it is sent again. */
  async function settle(settlement: Settlement, endMs: number): Promise<void> {
    for (;;) {
      try {
        await store.settleMessage(settlement);
        return;
      } catch (error) {
        if (now() + settleRetryMs >= endMs || isDraining) {
          const { channel } = settlement;
          log.warn({ err: error, channel }, 'what became of a notice is not written down: it is sent again');
          return;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, settleRetryMs));
    }
  }

  async function runRound(): Promise<void> {
    try {
      // More may be due than there was room for.
      while (!isDraining && (await claim()) > 0) isAway = false;
      isAway = false;
    } catch (error) {
      if (!isAway) log.warn({ err: error }, 'notices cannot be read from the state');
      isAway = true;
    }
  }

  function next(): void {
    if (!isStarted || isDraining || round !== undefined) return;
    clearTimeout(timer);
    isNudged = false;
    round = runRound().finally(() => {
      round = undefined;
      if (isDraining) return;
      if (isNudged && !isAway) next();
      else if (configs.size > 0) timer = setTimeout(next, pollMs);
    });
  }

  function nudge(): void {
    isNudged = true;
    if (configs.size > 0) next();
  }

  return {
    use(given, itsTransport) {
      configs = new Map(given.map((it) => [it.name, it]));
      transport = itsTransport;
      nudge();
    },
    start() {
      isStarted = true;
      nudge();
    },
    nudge,
    async send(message, config) {
      const outcome = await send(message, config);
      return outcome.kind === 'released' ? { kind: 'retry', reason: 'the daemon ends' } : outcome;
    },
    async drain(graceMs) {
      isDraining = true;
      clearTimeout(timer);
      await round;
      const grace = setTimeout(() => leaving.abort(), graceMs);
      await Promise.all(sends);
      clearTimeout(grace);
    },
  };
}

const released = { kind: 'released' } as const;
const notItsTenant = { kind: 'refused', reason: "the channel is another tenant's now" } as const;

/** A channel that does not listen to its signal holds up nobody. */
async function inTime<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  // Its later answer is of no interest.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function toMessage({ noticeId, count, firstMs, lastMs, traceIds, body }: ClaimedMessage): Message {
  const notice = JSON.parse(body) as Notice;
  const message = { messageId: noticeId, notice, count };
  return count === 1 ? message : { ...message, digest: { firstMs, lastMs, traceIds } };
}
