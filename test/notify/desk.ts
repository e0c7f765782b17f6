import { join } from 'node:path';
import pino from 'pino';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { newTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { channels } from '../../src/notify/channels/index.ts';
import type { Notice } from '../../src/notify/notice.ts';
import {
  Notifications,
  type NotificationsOptions,
  type SweepTimings,
} from '../../src/notify/notifications.ts';
import type { Timings } from '../../src/notify/settlement.ts';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { openRedisStore } from '../../src/state/redis/store.ts';
import type { Store } from '../../src/state/store.ts';
import { startRedis } from '../support/redis.ts';
import { transportWith } from './lab.ts';

/* What tells people, on a real state, with waits that a test can sit out. */

export const briefTimings: Timings & SweepTimings = {
  pollMs: 10,
  sendTimeoutMs: 20_000,
  leaseMs: 60_000,
  retryMinMs: 5,
  retryMaxMs: 50,
  pauseMinMs: 20,
  pauseMaxMs: 40,
  retryAfterMaxMs: 3_600_000,
  giveUpAfterMs: 86_400_000,
  sweepMs: 50,
  goneAfterMs: 300_000,
};

export interface Desk {
  readonly notifications: Notifications;
  readonly log: readonly Record<string, unknown>[];
  /** From now on to these channels. */
  use(entries: readonly object[]): void;
  stop(): Promise<void>;
}

export interface DeskOptions extends Partial<Pick<NotificationsOptions, 'now' | 'random' | 'alertUsage'>> {
  readonly timings?: Partial<Timings & SweepTimings>;
  /** Sections beside `notifications`. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** Entries of the configuration, as the daemon reads them. */
const configOf = (entries: readonly object[], sections: Readonly<Record<string, unknown>> = {}) =>
  parseConfig(stringify({ tenants: [{ id: 'acme' }, { id: 'beta' }], ...sections, notifications: entries }), {
    file: undefined,
    env: {},
  });

/** It is started, and ends with the test. */
export function openDesk(
  t: Test,
  store: Store,
  entries: readonly object[],
  { config: sections, timings = {}, ...options }: DeskOptions = {},
): Desk {
  const log: Record<string, unknown>[] = [];
  const lines = { write: (line: string) => void log.push(JSON.parse(line)) };
  const config = configOf(entries, sections);
  const notifications = new Notifications({
    store,
    config,
    channels,
    controlUrl: () => undefined,
    log: pino({ level: 'info' }, lines),
    sweeps: true,
    alertUsage: async () => undefined,
    timings: { ...briefTimings, ...timings },
    ...options,
  });
  notifications.use(config, transportWith());
  notifications.start();
  const stop = () => notifications.close();
  t.teardown(stop);
  return {
    notifications,
    log,
    use: (next) => notifications.use(configOf(next, sections), transportWith()),
    stop,
  };
}

export const entry = (name: string, url: string, fields: object = {}): object => ({
  ...{ name, type: 'webhook', url, allow_private: true },
  ...fields,
});

let made = 0;

/** One that nothing else is like. */
export function someNotice(fields: Partial<Notice> = {}): Notice {
  made += 1;
  const traceId = newTraceId(Date.now());
  return {
    noticeId: `notice-${process.pid}-${made}`,
    kind: 'decision.deny',
    atMs: Date.now(),
    severity: 'HIGH',
    tenantId: 'acme',
    ...{ envName: 'production', agentId: traceId },
    ...{ agentName: ownName('support-bot'), toolName: ownName('github') },
    summary: ownName(`notice ${made}`),
    data: { trace_id: traceId },
    escalateTo: [],
    ...fields,
  };
}

/** States of both kinds, empty; that of Redis on two nodes. Left out where the machine has no Redis. */
export async function states(t: Test): Promise<readonly { name: string; nodes: readonly Store[] }[]> {
  const embedded = await openEmbeddedStore({ dir: join(t.testdir(), 'state') });
  t.teardown(() => embedded.close());
  const all: { name: string; nodes: Store[] }[] = [{ name: 'embedded', nodes: [embedded] }];
  const redis = await startRedis(t);
  if (!redis) return all;
  const nodes: Store[] = [];
  for (let at = 0; at < 2; at += 1) {
    const options = { prefix: 'p:', timeoutMs: 10_000, ca: undefined, log: { warn: () => undefined } };
    const node = await openRedisStore({ ...redis.address, ...options });
    t.teardown(() => node.close());
    nodes.push(node);
  }
  return [...all, { name: 'redis', nodes }];
}
