import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Files } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/log.ts';
import { ownName } from '../../core/safe-name.ts';
import { openVault } from '../../credentials/credentials.ts';
import { TokenBook } from '../../credentials/issued-tokens.ts';
import { createTenantSecrets } from '../../credentials/tenant-secrets.ts';
import { createAnswerDesk } from '../../decision/approvals/answer-desk.ts';
import { ApprovalDesk } from '../../decision/approvals/approval-desk.ts';
import { IncidentDesk } from '../../decision/approvals/incident-desk.ts';
import { type AuthThrottles, createAuthThrottles } from '../../decision/auth-throttle.ts';
import type { GateStatus } from '../../decision/gate.ts';
import { packagedInjections, packagedMeanings } from '../../decision/packaged-readers.ts';
import { createEvents, usageAlert } from '../../decision/trace/events.ts';
import { TraceFeed } from '../../decision/trace/trace-feed.ts';
import { createBeginningMemory } from '../../inspect/segments/known-beginning.ts';
import { channels } from '../../notify/channels/index.ts';
import { Notifications, type NotificationsOptions } from '../../notify/notifications.ts';
import { type Feeds, type FeedsOptions, openFeeds } from '../../risk/feeds/feeds.ts';
import { loadPrivileges } from '../../risk/signals/privileges.ts';
import { createRiskyParameters, loadRiskyKinds } from '../../risk/signals/risky-parameters.ts';
import { Journal, type JournalOptions } from '../../state/journal.ts';
import { openStore } from '../../state/open.ts';
import type { Store } from '../../state/store.ts';
import { ownTables } from '../../tenants/catalogues.ts';
import { loadEngines } from '../../tenants/engines.ts';
import { makeFolder } from '../../util/files/make-folder.ts';
import { packageFile } from '../../util/program-files.ts';
import type { ListenerAddress } from '../../wire/client/reach/guard.ts';
import { type Authority, openAuthority } from '../../wire/tls/authority.ts';
import type { Bound } from '../bound.ts';
import { type FeedConnections, openFeedConnections } from '../feed-connections.ts';
import type { Desks, Foundations, PackagedData } from '../foundations.ts';
import { withFreshTraces } from '../fresh-traces.ts';
import { feedFailed, withErrorsTold } from '../gateway-notices.ts';
import { holdJournal, shipLeftBehind } from '../journals.ts';
import type { Counters } from '../metrics/counters.ts';
import { measuredStore } from '../metrics/measured.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { sourcesOf } from '../metrics/sources.ts';
import { withNudges } from '../nudges.ts';
import { openReaders } from '../reader-threads.ts';
import type { Exporter } from '../telemetry/exporter.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import { checkPepper, loadPepper } from './pepper.ts';

interface FoundationsOptions {
  readonly files: Files;
  readonly place: WorkerSlot;
  readonly log: Log;
  readonly bound: () => Bound;
  readonly status: () => GateStatus;
  readonly closers: AsyncDisposableStack;
  readonly metrics: Metrics;
  readonly exporter: Exporter;
}

const dataFolder = packageFile('config');

export interface OpenedFoundations {
  readonly foundations: Foundations;
  readonly authority: Authority;
  readonly feedConnections: FeedConnections;
  /** The notifications, which have no channels yet and are to be started. */
  readonly notifications: Notifications;
  /** Starts the reader threads; see `openReaders`. */
  startReaders(): void;
}

/** Opens what outlives reloads: state, journal, authority, and the data of detectors and tools. */
export async function openFoundations(
  config: Config,
  { files, place, log: plainLog, bound, status, closers, metrics, exporter }: FoundationsOptions,
): Promise<OpenedFoundations> {
  const { counters } = metrics;
  const state = measuredStore(await openState(config, plainLog, closers), counters);
  const controlUrl = () => `${config.control.tls ? 'https' : 'http'}://${bound().control[0]}`;
  // These use the plain log: failures of notices are not told by notices.
  const notifying = { config, controlUrl, log: plainLog, sweeps: place.slot === 1 };
  const { notifications, store } = openNotifications(state, notifying, closers);
  const log = withErrorsTold(plainLog, (notice) => notifications.tell(notice), Date.now);
  const vault = openVault(config);
  await checkPepper(config, store);
  const pepper = loadPepper(config, log);
  const { cert: certFile, key: keyFile } = config.authority;
  const authority = openAuthority({ certFile, keyFile, nowMs: Date.now() });
  const journal = await openJournal(config.state, place, closers, {
    ship: notifications.shipTo(store.recordCalls.bind(store)),
    onError(error: unknown) {
      counters.journalProblems += 1;
      log.error({ err: error }, 'the journal has a problem');
    },
  });
  const traces = withFreshTraces(store, journal);
  const desks = openDesks(store, traces, log, closers, counters);
  const ownListeners = createOwnListeners(bound);
  const feedConnections = openFeedConnections(config, files, ownListeners);
  const { download } = feedConnections;
  const onTrouble = toldOfTrouble(plainLog, notifications);
  const feeds = await openThreatFeeds(config, place, log, { download, onTrouble });
  closers.defer(() => feeds.close());
  const engines = loadEngines();
  const openedReaders = openReaders(config, engines, { place, log, closers, counters });
  const foundations: Foundations = {
    ...packagedData(),
    store: traces,
    journal,
    engines,
    readers: openedReaders.readers,
    beginnings: createBeginningMemory(),
    feeds,
    pepper,
    secrets: createTenantSecrets(pepper),
    vault,
    issuedTokens: new TokenBook(),
    throttles: openThrottles(place, counters, log),
    ...desks,
    notifications: notifications.desk,
    metrics,
    exporter,
    log,
    registeredTenants: new Set(await store.registeredTenants()),
    ownListeners,
    controlUrl,
    status,
  };
  for (const source of sourcesOf({ ...foundations, readers: openedReaders, authority }))
    metrics.watch(source);
  return { foundations, authority, feedConnections, notifications, startReaders: openedReaders.start };
}

async function openState({ state }: Config, log: Log, closers: AsyncDisposableStack): Promise<Store> {
  const { url, dir, timeoutMs, caFile } = state;
  makeFolder(dir, 0o700);
  const store = await openStore({ url, dir, timeoutMs, caFile, log });
  closers.defer(() => store.close());
  return store;
}

/** Makes the throttles of keys and secrets. Failures are counted and logged. */
const openThrottles = ({ workers }: WorkerSlot, counters: Counters, log: Log): AuthThrottles =>
  createAuthThrottles(workers, {
    told({ address, keyId, entrance, reason, isLast }) {
      log.warn(
        {
          client_address: address,
          entrance: ownName(entrance),
          reason: ownName(reason),
          ...(keyId === undefined ? {} : { key_id: keyId }),
        },
        isLast ? 'an authentication failed, and its address is held up' : 'an authentication failed',
      );
    },
    counted: (entrance, reason) => counters.authFailures.get(entrance)?.add(reason),
  });

/** Opens the way of notices. What is written through the returned store is told at once. */
function openNotifications(
  state: Store,
  options: Pick<NotificationsOptions, 'config' | 'controlUrl' | 'log' | 'sweeps'>,
  closers: AsyncDisposableStack,
): { notifications: Notifications; store: Store } {
  const notifications = new Notifications({
    ...options,
    store: state,
    channels,
    async alertUsage(tenantId, percent, used, quota) {
      const { alert, event } = usageAlert({ tenantId, atMs: Date.now(), percent, used, quota });
      await store.alertUsage(tenantId, alert, event);
    },
  });
  closers.defer(() => notifications.close());
  const store = withNudges(state, (tenantId) => notifications.nudge(tenantId));
  return { notifications, store };
}

/** Opens the threat feeds. Where several processes share the folder, the first one fetches for all. */
const openThreatFeeds = (
  { feeds, state }: Config,
  { workers, slot }: WorkerSlot,
  log: Log,
  more: Pick<FeedsOptions, 'download' | 'onTrouble'>,
): Promise<Feeds> =>
  openFeeds({
    ...more,
    feeds,
    dir: join(state.dir, 'feeds'),
    part: workers === 1 ? undefined : slot === 1 ? 'leader' : 'follower',
    log,
  });

/** Opens the services that people and calls wait for. */
function openDesks(
  store: Store,
  traces: Store,
  log: Log,
  closers: AsyncDisposableStack,
  counters: Counters,
): Omit<Desks, 'notifications'> {
  const incidents = new IncidentDesk(store, log);
  closers.defer(() => incidents.close());
  const answers = createAnswerDesk(traces, log, (it) => counters.countAnswer(it));
  closers.defer(() => answers.close());
  const traceFeed = new TraceFeed(store, log);
  closers.defer(() => traceFeed.close());
  return {
    incidents,
    answers,
    traceFeed,
    approvals: new ApprovalDesk(store),
    events: createEvents(store, log),
  };
}

/** Returns the function that reports a feed's trouble, in the log and by a notice. */
const toldOfTrouble =
  (log: Log, notifications: Notifications): NonNullable<FeedsOptions['onTrouble']> =>
  ({ name, status, lastError }) => {
    log.error({ feed: name, status, reason: lastError }, 'a threat feed has a problem');
    notifications.tell(feedFailed(name, status, Date.now()));
  };

/** Reads the data that comes with the program. */
const packagedData = (): PackagedData => ({
  injections: packagedInjections(),
  meanings: packagedMeanings(),
  riskyParameters: createRiskyParameters(loadRiskyKinds(join(dataFolder, 'mcp/parameters.yaml'))),
  privileges: loadPrivileges(join(dataFolder, 'signals/privileges.yaml')),
  toolTables: ownTables(),
});

/** Opens the journal of this process, after shipping what other processes have left behind. */
async function openJournal(
  state: Config['state'],
  place: WorkerSlot,
  closers: AsyncDisposableStack,
  options: Omit<JournalOptions, 'dir'>,
): Promise<Journal> {
  const journal = new Journal({ ...options, dir: holdJournal(state, place, closers) });
  closers.defer(() => journal.close());
  // Lines that a killed process left are counted before the first call, so that no quota and no use is given
  // twice.
  await journal.flush();
  await shipLeftBehind(state.dir, place, options);
  return journal;
}

/**
 * Returns what lists the daemon's own listeners. It is asked for every call on an inbound route, so the
 * addresses are parsed once for each binding.
 */
function createOwnListeners(bound: () => Bound): () => readonly ListenerAddress[] {
  let last: Bound | undefined;
  let listeners: readonly ListenerAddress[] = [];
  return () => {
    const now = bound();
    if (now !== last) {
      last = now;
      listeners = [...now.proxy, ...now.control].flatMap(toListenerAddress);
    }
    return listeners;
  };
}

function toListenerAddress(bound: string): ListenerAddress[] {
  const [, address = '', port = ''] = /^\[?([^\]]*)\]?:(\d+)$/.exec(bound) ?? [];
  return isIP(address) ? [{ address, port: Number(port) }] : [];
}
