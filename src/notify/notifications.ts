import type { Config, NotificationConfig } from '../config/schema.ts';
import type { ChannelType, EventKind } from '../config/sections/notifications.ts';
import { bands, decisions } from '../core/call.ts';
import { toGatewayError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { ownName, safely } from '../core/safe-name.ts';
import { alertPercents, periodOf } from '../state/rules/limits.ts';
import type { CallBatch, ChannelQueue, NewNotice, Store } from '../state/store.ts';
import type { Channel, DeliveryOutcome, Transport } from './channel.ts';
import { kindOfDecision, type WantedDecisions } from './decision-notices.ts';
import { createDelivery, type Delivery, pauseFrom, type Timings, timings } from './delivery.ts';
import { createFilter, type Filter } from './filters.ts';
import { giveUpLost, type LostTimings } from './lost-messages.ts';
import { createManyAsked } from './many-asked.ts';
import type { Notice } from './notice.ts';
import { createOutbox } from './outbox.ts';
import { createRelay } from './relay.ts';

/* Puts together how people are told: where notices come from, which channels want them, the queue, and who empties it. */

export interface NotificationsOptions {
  readonly store: Store;
  /** Whose channels it begins with; `use` gives them a way. */
  readonly config: NotificationConfigs;
  readonly channels: ReadonlyMap<ChannelType, Channel>;
  readonly controlUrl: () => string | undefined;
  readonly log: Log;
  /** This process looks after what nobody has nudged anybody for: of a daemon with several, one does. */
  readonly sweeps: boolean;
  /** Sends alerts on usage. */
  readonly alertUsage: (tenantId: string, percent: number, used: number, quota: number) => Promise<void>;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly timings?: Partial<Timings & SweepTimings>;
}

export interface SweepTimings extends Pick<LostTimings, 'goneAfterMs'> {
  /** The longest time until a missed notice is found. */
  readonly sweepMs: number;
}

export type NotificationConfigs = Pick<Config, 'notifications' | 'tenants' | 'defaultTenant'>;

export interface Notifications {
  /** Ships the journal: to the state, and to whoever is to be told. */
  shipTo(record: (batch: CallBatch) => Promise<number>): (batch: CallBatch) => Promise<number>;
  /** Something has been written to the audit log of the tenant. */
  nudge(tenantId: string): void;
  /**
   * Tells a notice that is in no log of the state. It is kept in memory until `start` and while the state is away, as
   * far as there is room. Never throws.
   */
  tell(notice: Notice): void;
  /** From now on to these channels, in this way. */
  use(config: NotificationConfigs, transport: Transport): void;
  /** Begins to send. */
  start(): void;
  /** Takes no further message; what is being sent may end for at most `graceMs`. */
  drain(graceMs: number): Promise<void>;
  /** Resolves when nothing is under way any more. */
  close(): Promise<void>;
  readonly desk: NotificationDesk;
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
export const sweepTimings: SweepTimings = { sweepMs: 15_000, goneAfterMs: 5 * minute };
/** Messages that wait, of all channels together; each has its share, and at least some. */
const waitingMax = 100_000;
export const waitingOfOneMin = 1_000;
export const waitingOfOneMax = 20_000;
/** Notices in memory while the state is away. */
export const heldMax = 100;

interface Known {
  readonly config: NotificationConfig;
  readonly filter: Filter;
}

export function createNotifications(options: NotificationsOptions): Notifications {
  const { store, log, sweeps, alertUsage, now = Date.now, random = Math.random } = options;
  const times = { ...timings, ...sweepTimings, ...options.timings };
  const manyAsked = createManyAsked();
  const delivery: Delivery = createDelivery({ ...options, now, random, timings: times });
  let known: readonly Known[] = [];
  let tenants: NotificationConfigs = options.config;
  let wanted: WantedDecisions | undefined;
  let share = waitingOfOneMin;
  let held: Notice[] = [];
  /** Such notices on their way into the queue. */
  let leaving = 0;
  let telling: Promise<void> | undefined;
  let sweeping: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStarted = false;
  let isClosed = false;

  function know(config: NotificationConfigs): void {
    known = config.notifications.map((it) => ({ config: it, filter: createFilter(it) }));
    tenants = config;
    wanted = known.length === 0 ? undefined : wantedBy(known);
    const equalShare = Math.floor(waitingMax / Math.max(1, known.length));
    share = Math.min(waitingOfOneMax, Math.max(waitingOfOneMin, equalShare));
  }
  know(options.config);

  const wants = (kind: EventKind, tenantId: string): boolean =>
    known.some(({ filter }) => filter.mayWant(kind) && filter.isFor(tenantId));

  const isKnown = (channel: string): boolean => known.some(({ config }) => config.name === channel);

  const relay = createRelay({ store, wants, tell: enqueue, now, log });

  function toNew(notice: Notice): NewNotice[] {
    const targets = known.filter(({ filter }) => filter.wants(notice));
    if (targets.length === 0) return [];
    const { noticeId, kind, tenantId, atMs, data } = notice;
    const traceId = typeof data['trace_id'] === 'string' ? data['trace_id'] : null;
    // Each held call waits for a decision of its own, and for no window to end, unless there are many.
    const isAlone = kind === 'decision.require_approval' && !manyAsked.isOneOfMany(tenantId ?? '', now());
    const channels = targets.map(({ config }) => ({
      name: config.name,
      owner: config.tenantId,
      digestMs: isAlone ? 0 : config.digestMs,
      waitingMax: share,
    }));
    return [{ noticeId, kind, tenantId, atMs, traceId, body: JSON.stringify(notice), channels }];
  }

  /** Rejects where the state does not take them now. What it will never take holds up nobody, and is told of in the log. */
  async function enqueue(notices: readonly Notice[]): Promise<void> {
    const wantedOnes = notices.flatMap(toNew);
    if (wantedOnes.length === 0) return;
    try {
      await store.enqueueNotices(wantedOnes, now());
    } catch (error) {
      if (mayPass(error)) throw error;
      log.error({ err: error, notices: wantedOnes.length }, 'notices cannot be put into the queue');
    }
    delivery.nudge();
  }

  async function tellHeld(): Promise<void> {
    while (held.length > 0) {
      const all = held;
      held = [];
      leaving = all.length;
      try {
        await enqueue(all);
      } catch (error) {
        held = [...all, ...held];
        log.warn({ err: error, notices: held.length }, 'notices wait for the state');
        return;
      } finally {
        leaving = 0;
      }
    }
  }

  function tellSoon(): Promise<void> {
    telling ??= tellHeld().finally(() => {
      telling = undefined;
    });
    return telling;
  }

  async function tenantIds(): Promise<readonly string[]> {
    return [...new Set([...tenants.tenants.keys(), ...(await store.registeredTenants())])];
  }

  /** Counts are told when they are reached; of those that a crash has passed over it is told here. */
  async function sweepUsage(ids: readonly string[]): Promise<void> {
    for (const tenantId of ids) {
      const { plan } = tenants.tenants.get(tenantId) ?? tenants.defaultTenant(tenantId);
      const quota = plan.scansPerMonth;
      if (quota === null || isClosed || !wants('usage.threshold', tenantId)) continue;
      const { scansUsed } = await store.usageOf(tenantId, now());
      for (const percent of alertPercents)
        if (scansUsed >= Math.ceil((quota * percent) / 100))
          await alertOnce(tenantId, percent, scansUsed, quota);
    }
  }

  /** Alerts that this process has sent need no look at the state. */
  const alerted = new Map<string, number>();

  async function alertOnce(tenantId: string, percent: number, used: number, quota: number): Promise<void> {
    const { startMs } = periodOf(now());
    const name = `${tenantId} ${percent}`;
    if (alerted.get(name) === startMs) return;
    await alertUsage(tenantId, percent, used, quota);
    alerted.set(name, startMs);
  }

  async function sweep(): Promise<void> {
    try {
      await tellSoon();
      if (!sweeps) return;
      const ids = known.length === 0 ? [] : await tenantIds();
      await relay.sweep(ids);
      await sweepUsage(ids);
      await giveUpLost({ store, log, isKnown, nowMs: now(), timings: times });
    } catch (error) {
      log.warn({ err: error }, 'the sweep for notices failed; it is done again');
    }
  }

  function sweepSoon(ms: number): void {
    if (isClosed) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      sweeping = sweep().finally(() => {
        sweeping = undefined;
        sweepSoon(times.sweepMs);
      });
    }, ms).unref();
  }

  return {
    shipTo: createOutbox({ wanted: () => wanted, tell: enqueue }),
    nudge: relay.nudge,
    tell(notice) {
      if (!known.some(({ filter }) => filter.wants(notice))) return;
      if (held.length + leaving >= heldMax) {
        log.warn({ kind: notice.kind, summary: notice.summary }, 'a notice is dropped: the state is away');
        return;
      }
      held.push(notice);
      if (isStarted) void tellSoon();
    },
    use(config, transport) {
      know(config);
      delivery.use(config.notifications, transport);
    },
    start() {
      isStarted = true;
      delivery.start();
      // Notices that an earlier process has left are told first.
      sweepSoon(0);
    },
    drain: delivery.drain,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await delivery.drain(0);
      await Promise.all([sweeping, relay.close()]);
      await tellSoon();
    },
    desk: {
      async channels() {
        const queues = new Map((await store.channelQueues()).map((it) => [it.name, it]));
        return known.map(({ config }) => {
          const queue = queues.get(config.name);
          return { config, queue, circuit: circuitOf(queue, now()) };
        });
      },
      async test(name) {
        const config = known.find((it) => it.config.name === name)?.config;
        return config && delivery.send(testMessage(config, now()), config);
      },
      find: (name) => known.find((it) => it.config.name === name)?.config,
      wake: delivery.nudge,
    },
  };
}

const passing: ReadonlySet<string> = new Set(['STATE_UNAVAILABLE', 'GATEWAY_BUSY', 'SHUTTING_DOWN']);
const mayPass = (error: unknown): boolean => passing.has(toGatewayError(error).code);

function wantedBy(known: readonly Known[]): WantedDecisions {
  const wanted = decisions.map((decision) => {
    const by = known.filter(({ filter }) => filter.mayWant(kindOfDecision[decision]));
    const least = bands.find((band) => by.some(({ config }) => config.minSeverity === band));
    return [decision, least] as const;
  });
  return new Map(wanted.flatMap(([decision, band]) => (band ? [[decision, band]] : [])));
}

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
