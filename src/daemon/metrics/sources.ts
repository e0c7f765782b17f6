import { X509Certificate } from 'node:crypto';
import type { GateStatus } from '../../decision/gate.ts';
import type { PoolCounts } from '../../inspect/threads/reader-pool.ts';
import type { ChannelHealth, NotificationDesk } from '../../notify/notifications.ts';
import type { Feeds } from '../../risk/feeds/feeds.ts';
import type { Journal } from '../../state/journal.ts';
import type { Store } from '../../state/store.ts';
import { version } from '../../util/version.ts';
import type { ListenersTls } from '../start/listener-tls.ts';
import { type Samples, type Source, single } from './collect.ts';
import type { Sample } from './families.ts';

/* Numbers that are looked up when somebody asks for metrics. */

interface Watched {
  readonly store: Pick<Store, 'trouble'>;
  readonly journal: Pick<Journal, 'waitingBytes'>;
  readonly feeds: Pick<Feeds, 'health'>;
  readonly notifications: Pick<NotificationDesk, 'channels'>;
  readonly readers: { readonly threads: number; counts(): PoolCounts | undefined };
  readonly authority: { readonly expiresAtMs: number };
  status(): GateStatus;
}

/** Returns the sources of one process. They are separate, so that one that fails takes no other with it. */
export const sourcesOf = ({
  store,
  journal,
  feeds,
  notifications,
  readers,
  authority,
  status,
}: Watched): Source[] => [
  () => ({
    postern_build_info: [single(1, { version: version() })],
    postern_workers: [single(1)],
    postern_config_generation: [single(status().generation)],
    postern_config_reload_ok: [single(status().lastError === null ? 1 : 0)],
    postern_journal_waiting_bytes: [single(journal.waitingBytes())],
  }),
  () => ofReaders(readers),
  async () => ({ postern_state_up: [single((await store.trouble()) === undefined ? 1 : 0)] }),
  () => ofFeeds(feeds.health()),
  async () => ofChannels(await notifications.channels()),
  () => ({ postern_certificate_days: [daysLeft('authority', authority.expiresAtMs)] }),
];

/** Returns the source that tells how long the certificates of the listeners are valid. */
export const listenerCertificates =
  (shown: () => ListenersTls): Source =>
  () => {
    const { proxy, control } = shown();
    return {
      postern_certificate_days: [
        ...(proxy ? [daysLeft('proxy', expiryOf(proxy.cert))] : []),
        ...(control ? [daysLeft('control', expiryOf(control.cert))] : []),
      ],
    };
  };

const expiryOf = (pem: Buffer): number => new X509Certificate(pem).validToDate.getTime();

const dayMs = 86_400_000;

const daysLeft = (certificate: string, expiresAtMs: number): Sample =>
  single(Math.round(((expiresAtMs - Date.now()) / dayMs) * 100) / 100, { certificate });

function ofReaders({ threads, counts }: Watched['readers']): Samples {
  const { waiting = 0, waitingBytes = 0, refused = 0 } = counts() ?? {};
  return {
    postern_reader_threads: [single(threads)],
    postern_reader_waiting: [single(waiting)],
    postern_reader_waiting_bytes: [single(waitingBytes)],
    postern_reader_refused_total: [single(refused)],
  };
}

function ofFeeds(feeds: ReturnType<Feeds['health']>): Samples {
  const known = feeds.filter((it) => it.ageMs !== undefined);
  return {
    postern_feed_up: feeds.map(({ name, status }) => single(status === 'ok' ? 1 : 0, { feed: name })),
    postern_feed_indicators: feeds.map(({ name, indicators }) => single(indicators, { feed: name })),
    postern_feed_age_seconds: known.map(({ name, ageMs = 0 }) => single(ageMs / 1000, { feed: name })),
  };
}

/**
 * Returns the sums by type of channel. Names of channels may be those of tenants, which people who see the
 * metrics need not know.
 */
function ofChannels(channels: readonly ChannelHealth[]): Samples {
  const sums = (of: (channel: ChannelHealth) => number): Sample[] => {
    const totals = new Map<string, number>();
    for (const it of channels) totals.set(it.config.type, (totals.get(it.config.type) ?? 0) + of(it));
    return [...totals].map(([type, total]) => single(total, { type }));
  };
  return {
    postern_notifications_waiting: sums(({ queue }) => queue?.waiting ?? 0),
    postern_notifications_dead: sums(({ queue }) => queue?.dead ?? 0),
    postern_notifications_delivered: sums(({ queue }) => queue?.delivered ?? 0),
    postern_notifications_dropped: sums(({ queue }) => queue?.dropped ?? 0),
    postern_notification_circuits_open: sums(({ circuit }) => (circuit === 'closed' ? 0 : 1)),
  };
}
