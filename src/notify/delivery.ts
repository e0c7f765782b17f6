import type { NotificationConfig } from '../config/schema.ts';
import type { ChannelType } from '../config/sections/notifications.ts';
import { clockSkewMs } from '../state/rules/clock-skew.ts';
import type { ChannelClaim, ClaimedMessage, Settlement, Store } from '../state/store.ts';
import { Tally } from '../util/tally.ts';
import type { DeliveryOutcome, Transport } from './channel.ts';
import type { Message, Notice } from './notice.ts';
import { Sender, type SenderOptions } from './sender.ts';
import { pauseFrom, released, type SendOutcome, type Timings, toSettlement } from './settlement.ts';

/*
 * Takes messages out of the queue and gives them to their channels. Several daemons do it at once, and each
 * message is claimed by one of them. Where that one has not said in time what became of the message, all may
 * claim it again. No destination waits for another, since each has a few sends of its own, and a bounded
 * share of all.
 */

/** Rate of one destination. People's channels take one message a second; programs are made for more. */
interface Rate {
  readonly intervalMs: number;
  readonly burst: number;
}

const forPeople: Rate = { intervalMs: 1_000, burst: 10 };
const forPrograms: Rate = { intervalMs: 10, burst: 100 };

const rateOf = (type: ChannelType): Rate => (type === 'webhook' || type === 'siem' ? forPrograms : forPeople);

export const sendsPerChannelMax = 4;
const sendsMax = 64;
const settleRetryMs = 500;

interface DeliveryOptions extends Omit<SenderOptions, 'sendTimeoutMs'> {
  readonly store: Pick<Store, 'claimMessages' | 'settleMessage'>;
  /** Source of numbers from 0 to 1, for the jitter. */
  readonly random: () => number;
  readonly timings: Timings;
}

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #sender: Sender;
  #configs: ReadonlyMap<string, NotificationConfig> = new Map();
  /** Number of sends under way, by channel. */
  readonly #running = new Tally();
  readonly #sends = new Set<Promise<void>>();
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #isNudged = false;
  #isStarted = false;
  #isDraining = false;
  #isAway = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#sender = new Sender({ ...options, sendTimeoutMs: options.timings.sendTimeoutMs });
  }

  /** Sends to these channels by this transport from now on. */
  use(given: readonly NotificationConfig[], transport: Transport): void {
    this.#configs = new Map(given.map((it) => [it.name, it]));
    this.#sender.transport = transport;
    this.nudge();
  }

  start(): void {
    this.#isStarted = true;
    this.nudge();
  }

  /** Looks into the queue, since there is something new. */
  nudge(): void {
    this.#isNudged = true;
    if (this.#configs.size > 0) this.#next();
  }

  /** Sends one message, past the queue. */
  async send(message: Message, config: NotificationConfig): Promise<DeliveryOutcome> {
    const outcome = await this.#sender.send(message, config);
    return outcome.kind === 'released' ? { kind: 'retry', reason: 'the daemon ends' } : outcome;
  }

  /** Claims nothing more. Deliveries may end for at most `graceMs`; the rest is left to other daemons. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    clearTimeout(this.#timer);
    await this.#round;
    const grace = setTimeout(() => this.#sender.abort(), graceMs);
    await Promise.all(this.#sends);
    clearTimeout(grace);
  }

  #next(): void {
    if (!this.#isStarted || this.#isDraining || this.#round !== undefined) return;
    clearTimeout(this.#timer);
    this.#isNudged = false;
    this.#round = this.#runRound().finally(() => {
      this.#round = undefined;
      if (this.#isDraining) return;
      if (this.#isNudged && !this.#isAway) this.#next();
      else if (this.#configs.size > 0)
        this.#timer = setTimeout(() => this.#next(), this.#options.timings.pollMs);
    });
  }

  async #runRound(): Promise<void> {
    try {
      // More may be due than there was room for.
      while (!this.#isDraining && (await this.#claim()) > 0) this.#isAway = false;
      this.#isAway = false;
    } catch (error) {
      if (!this.#isAway) this.#options.log.warn({ err: error }, 'notices cannot be read from the state');
      this.#isAway = true;
    }
  }

  async #claim(): Promise<number> {
    const asked = this.#claims();
    if (asked.length === 0) return 0;
    const { store, now, timings } = this.#options;
    const claimedAtMs = now();
    const messages = await store.claimMessages(asked, claimedAtMs, timings.leaseMs);
    for (const message of messages) this.#begin(message, claimedAtMs);
    return messages.length;
  }

  /** Returns what to claim for the free places. The order changes, so that no channel takes all of them. */
  #claims(): ChannelClaim[] {
    const all = [...this.#configs.values()];
    this.#turn = all.length === 0 ? 0 : (this.#turn + 1) % all.length;
    let room = sendsMax - this.#sends.size;
    const asked: ChannelClaim[] = [];
    const { retryMaxMs, retryAfterMaxMs } = this.#options.timings;
    for (const { name, tenantId, type, digestMs } of [
      ...all.slice(this.#turn),
      ...all.slice(0, this.#turn),
    ]) {
      const limit = Math.min(room, sendsPerChannelMax - this.#running.of(name));
      if (limit <= 0) continue;
      room -= limit;
      const aheadMsMax = Math.max(retryMaxMs, retryAfterMaxMs, digestMs) + clockSkewMs;
      asked.push({ name, owner: tenantId, limit, ...rateOf(type), probingMin: pauseFrom, aheadMsMax });
    }
    return asked;
  }

  #begin(message: ClaimedMessage, claimedAtMs: number): void {
    const { channel } = message;
    this.#running.add(channel);
    const sending = this.#deliver(message, claimedAtMs).finally(() => {
      this.#running.add(channel, -1);
      this.#sends.delete(sending);
      this.nudge();
    });
    this.#sends.add(sending);
  }

  async #deliver(message: ClaimedMessage, claimedAtMs: number): Promise<void> {
    const { log, now, timings, random } = this.#options;
    const config = this.#configs.get(message.channel);
    const outcome = config ? await this.#sendOwn(message, config) : released;
    const terms = { nowMs: now(), random, timings };
    const settlement = toSettlement(message, claimedAtMs, outcome, terms);
    if (settlement.outcome.kind === 'dead')
      log.warn({ channel: message.channel, reason: settlement.outcome.reason }, 'a notice is given up');
    await this.#settle(settlement, claimedAtMs + timings.leaseMs);
  }

  /** Sends a message, unless the channel has become another tenant's since the message was made. */
  async #sendOwn(message: ClaimedMessage, config: NotificationConfig): Promise<SendOutcome> {
    if (config.tenantId !== null && config.tenantId !== message.tenantId) return notItsTenant;
    return this.#sender.send(toMessage(message), config);
  }

  /** Settles a message, trying until others may claim it; after that it is sent again. */
  async #settle(settlement: Settlement, endMs: number): Promise<void> {
    const { store, log, now } = this.#options;
    for (;;) {
      try {
        await store.settleMessage(settlement);
        return;
      } catch (error) {
        if (now() + settleRetryMs >= endMs || this.#isDraining) {
          const { channel } = settlement;
          log.warn({ err: error, channel }, 'what became of a notice is not written down: it is sent again');
          return;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, settleRetryMs));
    }
  }
}

const notItsTenant = { kind: 'refused', reason: "the channel is another tenant's now" } as const;

function toMessage({ noticeId, count, firstMs, lastMs, traceIds, body }: ClaimedMessage): Message {
  const notice = JSON.parse(body) as Notice;
  const message = { messageId: noticeId, notice, count };
  return count === 1 ? message : { ...message, digest: { firstMs, lastMs, traceIds } };
}
