import type { Config, NotificationConfig } from '../config/schema.ts';
import type { EventKind } from '../config/sections/notifications.ts';
import { bands, decisions } from '../core/call.ts';
import type { NewNotice } from '../state/store.ts';
import { kindOfDecision, type WantedDecisions } from './decision-notices.ts';
import { createFilter, type Filter } from './filters.ts';
import type { Notice } from './notice.ts';

export type NotificationConfigs = Pick<Config, 'notifications' | 'tenants' | 'defaultTenant'>;

interface ConfiguredChannel {
  readonly config: NotificationConfig;
  readonly filter: Filter;
}

/** Messages that may wait for all channels together. Each has an equal share, within the bounds below. */
const waitingMax = 100_000;
const waitingOfOneMin = 1_000;
const waitingOfOneMax = 20_000;

/** Knows the channels of one configuration, and what they want to be told. */
export class ConfiguredChannels {
  readonly all: readonly ConfiguredChannel[];
  readonly tenants: NotificationConfigs;
  /** Decisions that any channel wants; undefined where there is no channel. */
  readonly wanted: WantedDecisions | undefined;
  /** Messages that may wait for one channel. */
  readonly #share: number;

  constructor(config: NotificationConfigs) {
    this.all = config.notifications.map((it) => ({ config: it, filter: createFilter(it) }));
    this.tenants = config;
    this.wanted = this.all.length === 0 ? undefined : wantedBy(this.all);
    const equalShare = Math.floor(waitingMax / Math.max(1, this.all.length));
    this.#share = Math.min(waitingOfOneMax, Math.max(waitingOfOneMin, equalShare));
  }

  find(name: string): NotificationConfig | undefined {
    return this.all.find((it) => it.config.name === name)?.config;
  }

  wants(notice: Notice): boolean {
    return this.all.some(({ filter }) => filter.wants(notice));
  }

  mayWant(kind: EventKind, tenantId: string): boolean {
    return this.all.some(({ filter }) => filter.mayWant(kind) && filter.isFor(tenantId));
  }

  /** Returns the messages of a notice. A notice that `isAlone` is sent at once, despite digests. */
  toNew(notice: Notice, isAlone: (notice: Notice) => boolean): NewNotice[] {
    const targets = this.all.filter(({ filter }) => filter.wants(notice));
    if (targets.length === 0) return [];
    const { noticeId, kind, tenantId, atMs, data } = notice;
    const traceId = typeof data['trace_id'] === 'string' ? data['trace_id'] : null;
    const isSentAtOnce = isAlone(notice);
    const channels = targets.map(({ config }) => ({
      name: config.name,
      owner: config.tenantId,
      digestMs: isSentAtOnce ? 0 : config.digestMs,
      waitingMax: this.#share,
    }));
    return [{ noticeId, kind, tenantId, atMs, traceId, body: JSON.stringify(notice), channels }];
  }
}

function wantedBy(known: readonly ConfiguredChannel[]): WantedDecisions {
  const wanted = decisions.map((decision) => {
    const by = known.filter(({ filter }) => filter.mayWant(kindOfDecision[decision]));
    const least = bands.find((band) => by.some(({ config }) => config.minSeverity === band));
    return [decision, least] as const;
  });
  return new Map(wanted.flatMap(([decision, band]) => (band ? [[decision, band]] : [])));
}
