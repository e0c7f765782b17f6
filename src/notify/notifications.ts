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

/* Connects the sources of notices, the channels that want them, the queue, and who empties it. */

export interface NotificationsOptions extends Pick<UsageSweepOptions, 'alertUsage'> {
  readonly store: Store;
  /** Whose channels it begins with; `use` gives them a way. */
  readonly config: NotificationConfigs;
  readonly channels: ReadonlyMap<ChannelType, Channel>;
  readonly controlUrl: () => string | undefined;
  readonly log: Log;
  /** This process looks after what nobody has nudged anybody for: of a daemon with several, one does. */
  readonly sweeps: boolean;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly timings?: Partial<Timings & SweepTimings>;
}

export interface SweepTimings extends Pick<LostTimings, 'goneAfterMs'> {
  /** The longest time until a missed notice is found. */
  readonly sweepMs: number;
}

/** For those who look after channels. */
export interface NotificationDesk {
  /** The channels of the configuration, and how they do. */
  channels(): Promise<readonly ChannelHealth[]>;
  /** Sends a test past the queue; undefined where there is no such channel. */
  test(name: string): Promise<DeliveryOutcome | undefined>;
  find(name: string): NotificationConfig | undefined;
  /** There is something in the queue. */
  wake(): void;
}

export interface ChannelHealth {
  readonly config: NotificationConfig;
  readonly circuit: 'closed' | 'open' | 'half_open';
  /** Undefined: nobody has had anything for it yet. */
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
  /** Ships the journal: to the state, and to whoever is to be told. */
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

  /** Something has been written to the audit log of the tenant. */
  nudge(tenantId: string): void {
    this.#relay.nudge(tenantId);
  }

  /**
   * Tells a notice that is in no log of the state. It is kept in memory until `start` and while the state is
   * away, as far as there is room. Never throws.
   */
  tell(notice: Notice): void {
    if (this.#channels.wants(notice) && this.#held.add(notice) && this.#isStarted) void this.#held.tell();
  }

  /** From now on to these channels, in this way. */
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

  /** Takes no further message; what is being sent may end for at most `graceMs`. */
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

  /** Rejects where the state is away. A notice that it never takes is logged and holds up nobody. */
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
