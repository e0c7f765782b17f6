import type { NotificationConfig } from '../config/schema.ts';
import type { ChannelType, EventKind } from '../config/sections/notifications.ts';
import { toGatewayError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { ownName, safely } from '../core/safe-name.ts';
import type { ChannelQueue, Store } from '../state/store.ts';
import type { Channel, DeliveryOutcome, Transport } from './channel.ts';
import { ConfiguredChannels, type NotificationConfigs } from './configured-channels.ts';
import { Delivery } from './delivery.ts';
import { HeldNotices } from './held-notices.ts';
import { giveUpLost, type LostTimings } from './lost-messages.ts';
import { ManyAsked } from './many-asked.ts';
import type { Notice } from './notice.ts';
import { createOutbox } from './outbox.ts';
import { AuditRelay } from './relay.ts';
import { pauseFrom, type Timings, timings } from './settlement.ts';
import { createUsageSweep, type UsageSweep, type UsageSweepOptions } from './usage-sweep.ts';

/* Connects the sources of notices, the channels that want them, the queue, and what empties the queue. */

export interface NotificationsOptions extends Pick<UsageSweepOptions, 'alertUsage'> {
  readonly store: Store;
  /** Configuration of the first channels; `use` gives them a transport. */
  readonly config: NotificationConfigs;
  readonly channels: ReadonlyMap<ChannelType, Channel>;
  readonly controlUrl: () => string | undefined;
  readonly log: Log;
  /** Set in the one process of a daemon that also looks for what nobody has nudged anybody about. */
  readonly sweeps: boolean;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly timings?: Partial<Timings & SweepTimings>;
}

export interface SweepTimings extends Pick<LostTimings, 'goneAfterMs'> {
  /** Milliseconds between two sweeps, the longest time until a missed notice is found. */
  readonly sweepMs: number;
}

/** Shows and tests channels, for those who look after them. */
export interface NotificationDesk {
  /** Returns the channels of the configuration, and how they do. */
  channels(): Promise<readonly ChannelHealth[]>;
  /** Sends a test past the queue; undefined where there is no such channel. */
  test(name: string): Promise<DeliveryOutcome | undefined>;
  find(name: string): NotificationConfig | undefined;
  /** Makes the delivery look into the queue, since there is something new. */
  wake(): void;
}

export interface ChannelHealth {
  readonly config: NotificationConfig;
  readonly circuit: 'closed' | 'open' | 'half_open';
  /** Its queue in the state; undefined where nothing was ever put into it. */
  readonly queue: ChannelQueue | undefined;
}

const minute = 60_000;
const sweepTimings: SweepTimings = { sweepMs: 15_000, goneAfterMs: 5 * minute };

export class Notifications {
  readonly #options: NotificationsOptions;
  readonly #now: () => number;
  readonly #timings: Timings & SweepTimings;
  readonly #delivery: Delivery;
  readonly #relay: AuditRelay;
  readonly #usage: UsageSweep;
  readonly #manyAsked = new ManyAsked();
  /** Ships the journal to the state, and tells whoever is to be told. */
  readonly shipTo: ReturnType<typeof createOutbox>;
  readonly #held: HeldNotices;
  #channels: ConfiguredChannels;
  #sweeping: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(options: NotificationsOptions) {
    const { store, log, alertUsage, config, now = Date.now, random = Math.random } = options;
    const tell = (notices: readonly Notice[]): Promise<void> => this.#enqueue(notices);
    const wants = (kind: EventKind, tenantId: string): boolean => this.#channels.mayWant(kind, tenantId);
    this.#options = options;
    this.#now = now;
    this.#timings = { ...timings, ...sweepTimings, ...options.timings };
    this.#delivery = new Delivery({ ...options, now, random, timings: this.#timings });
    this.#relay = new AuditRelay({ store, wants, tell, now, log });
    this.#usage = createUsageSweep({ store, alertUsage, now, wants });
    this.shipTo = createOutbox({ wanted: () => this.#channels.wanted, tell });
    this.#held = new HeldNotices(tell, log);
    this.#channels = new ConfiguredChannels(config);
  }

  /** Looks into the audit log of the tenant, since something has been written to it. */
  nudge(tenantId: string): void {
    this.#relay.nudge(tenantId);
  }

  /**
   * Tells people of a notice that is in no log of the state. The notice is kept in memory until `start` and
   * while the state is away, as far as there is room. Never throws.
   */
  tell(notice: Notice): void {
    if (this.#channels.wants(notice) && this.#held.add(notice) && this.#isStarted) void this.#held.tell();
  }

  /** Sends to these channels by this transport from now on. */
  use(config: NotificationConfigs, transport: Transport): void {
    this.#channels = new ConfiguredChannels(config);
    this.#delivery.use(config.notifications, transport);
  }

  /** Begins to send. */
  start(): void {
    this.#isStarted = true;
    this.#delivery.start();
    // Notices that an earlier process has left are told first.
    this.#sweepSoon(0);
  }

  /** Takes no further message. Messages that are being sent may end for at most `graceMs`. */
  drain(graceMs: number): Promise<void> {
    return this.#delivery.drain(graceMs);
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#delivery.drain(0);
    await Promise.all([this.#sweeping, this.#relay.close()]);
    await this.#held.tell();
  }

  readonly desk: NotificationDesk = {
    channels: async () => {
      const queues = new Map((await this.#options.store.channelQueues()).map((it) => [it.name, it]));
      return this.#channels.all.map(({ config }) => {
        const queue = queues.get(config.name);
        return { config, queue, circuit: circuitOf(queue, this.#now()) };
      });
    },
    test: async (name) => {
      const config = this.#channels.find(name);
      return config && this.#delivery.send(testMessage(config, this.#now()), config);
    },
    find: (name) => this.#channels.find(name),
    wake: () => this.#delivery.nudge(),
  };

  /**
   * Puts notices into the queue. Rejects where the state is away. A notice that the state never takes is
   * logged and holds up nobody.
   */
  async #enqueue(notices: readonly Notice[]): Promise<void> {
    const { store, log } = this.#options;
    const nowMs = this.#now();
    const isAlone = ({ kind, tenantId }: Notice): boolean =>
      kind === 'decision.require_approval' && !this.#manyAsked.isOneOfMany(tenantId ?? '', nowMs);
    const wantedOnes = notices.flatMap((it) => this.#channels.toNew(it, isAlone));
    if (wantedOnes.length === 0) return;
    try {
      await store.enqueueNotices(wantedOnes, nowMs);
    } catch (error) {
      if (mayPass(error)) throw error;
      log.error({ err: error, notices: wantedOnes.length }, 'notices cannot be put into the queue');
    }
    this.#delivery.nudge();
  }

  #sweepSoon(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#sweeping = this.#sweep().finally(() => {
        this.#sweeping = undefined;
        this.#sweepSoon(this.#timings.sweepMs);
      });
    }, ms).unref();
  }

  async #sweep(): Promise<void> {
    const { store, log, sweeps } = this.#options;
    try {
      await this.#held.tell();
      if (!sweeps) return;
      const { tenants } = this.#channels;
      const ids = this.#channels.all.length === 0 ? [] : await tenantIds(store, tenants);
      await this.#relay.sweep(ids);
      await this.#usage(ids, tenants, () => this.#isClosed);
      const isKnown = (channel: string): boolean => this.#channels.find(channel) !== undefined;
      await giveUpLost({ store, log, isKnown, nowMs: this.#now(), timings: this.#timings });
    } catch (error) {
      log.warn({ err: error }, 'the sweep for notices failed; it is done again');
    }
  }
}

async function tenantIds(store: Store, { tenants }: NotificationConfigs): Promise<readonly string[]> {
  return [...new Set([...tenants.keys(), ...(await store.registeredTenants())])];
}

const passing: ReadonlySet<string> = new Set(['STATE_UNAVAILABLE', 'GATEWAY_BUSY', 'SHUTTING_DOWN']);
const mayPass = (error: unknown): boolean => passing.has(toGatewayError(error).code);

function circuitOf(queue: ChannelQueue | undefined, nowMs: number): ChannelHealth['circuit'] {
  if (!queue || queue.failures < pauseFrom) return 'closed';
  return queue.pausedUntilMs > nowMs ? 'open' : 'half_open';
}

function testMessage({ name, tenantId }: NotificationConfig, nowMs: number) {
  const messageId = `test-${newId()}`;
  const notice: Notice = {
    noticeId: messageId,
    kind: 'config.reloaded',
    atMs: nowMs,
    severity: 'LOW',
    tenantId,
    ...{ envName: null, agentId: null, agentName: null, toolName: null },
    summary: safely`This is a test of the channel ${ownName(name)}: nothing has happened`,
    data: { test: true, channel: name },
    escalateTo: [],
  };
  return { messageId, notice, count: 1 };
}
