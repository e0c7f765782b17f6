import { mkdirSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { readTables } from '../catalogue/catalogue.ts';
import type { Files } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { loadPhrasebook } from '../detectors/injection/phrasebook.ts';
import { createInjectionReader, type InjectionReader } from '../detectors/injection/reader.ts';
import { loadMeanings, type MeaningReader } from '../detectors/meaning/reader.ts';
import { createDownload } from '../feeds/download.ts';
import { openFeeds } from '../feeds/feeds.ts';
import type { Log } from '../log.ts';
import { createAnswerDesk } from '../pipeline/answer-desk.ts';
import { createApprovalDesk } from '../pipeline/approval-desk.ts';
import { createAuthThrottles } from '../pipeline/auth-throttle.ts';
import { openVault } from '../pipeline/credentials.ts';
import { loadEngines } from '../pipeline/engines.ts';
import { createEvents } from '../pipeline/events.ts';
import type { GateStatus } from '../pipeline/gate.ts';
import { createIncidentDesk } from '../pipeline/incident-desk.ts';
import { createTenantSecrets } from '../pipeline/tenant-secrets.ts';
import { loadPrivileges } from '../signals/privileges.ts';
import { createRiskyParameters, loadRiskyKinds } from '../signals/risky-parameters.ts';
import { openJournal } from '../state/journal.ts';
import { openStore } from '../state/open.ts';
import { type Authority, openAuthority } from '../tls/authority.ts';
import type { ListenerAddress } from '../upstream/guard.ts';
import type { Bound } from './announce.ts';
import type { Closers } from './closers.ts';
import { type FeedConnections, openFeedConnections } from './feed-connections.ts';
import { withFreshTraces } from './fresh-traces.ts';
import type { Foundations } from './generation.ts';
import { holdJournal, shipLeftBehind } from './journals.ts';
import { loadPepper } from './pepper.ts';

/** Which of the processes of a daemon this is. */
export interface Place {
  /** From 1. The first one does what one is to do for all. */
  readonly slot: number;
  readonly workers: number;
}

/** The only process of its daemon. */
export const alone: Place = { slot: 1, workers: 1 };

export interface FoundationsOptions {
  readonly files: Files;
  readonly place: Place;
  readonly log: Log;
  readonly bound: () => Bound;
  readonly status: () => GateStatus;
  readonly closers: Closers;
}

const dataFolder = resolve(import.meta.dirname, '../../config');

/** Opens what outlives reloads: state, journal, authority, and the data of detectors and tools. */
export async function openFoundations(
  config: Config,
  { files, place, log, bound, status, closers }: FoundationsOptions,
): Promise<{ foundations: Foundations; authority: Authority; feedConnections: FeedConnections }> {
  const { dir } = config.state;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { url, timeoutMs, caFile } = config.state;
  const store = await openStore({ url, dir, timeoutMs, caFile, log });
  closers.add(() => store.close());
  const vault = openVault(config);
  const pepper = loadPepper(config, log);
  const { cert: certFile, key: keyFile } = config.authority;
  const authority = openAuthority({ certFile, keyFile, nowMs: Date.now() });
  const journalOptions = {
    ship: store.recordCalls.bind(store),
    onError: (error: unknown) => log.error({ err: error }, 'the journal has a problem'),
  };
  const journalDir = holdJournal(config.state, place, closers);
  const journal = await openJournal({ ...journalOptions, dir: journalDir });
  closers.add(() => journal.close());
  // What a killed process left behind counts before the first call does: no quota and no use is given twice.
  await journal.flush();
  await shipLeftBehind(dir, place, journalOptions);
  const incidents = createIncidentDesk(store, log);
  closers.add(() => incidents.close());
  const traces = withFreshTraces(store, journal);
  const answers = createAnswerDesk(traces, log);
  closers.add(() => answers.close());
  const ownListeners = (): ListenerAddress[] =>
    [...bound().proxy, ...bound().control].flatMap(toListenerAddress);
  const feedConnections = openFeedConnections(config, files, ownListeners);
  const feeds = await openFeeds({
    feeds: config.feeds,
    dir: join(dir, 'feeds'),
    part: place.workers === 1 ? undefined : place.slot === 1 ? 'leader' : 'follower',
    log,
    download: createDownload((url) => feedConnections.connect(url)),
    onTrouble: ({ name, status, lastError }) =>
      log.error({ feed: name, status, reason: lastError }, 'a threat feed has a problem'),
  });
  closers.add(() => feeds.close());
  const foundations: Foundations = {
    store: traces,
    journal,
    engines: loadEngines(),
    injections: packagedInjections(),
    meanings: packagedMeanings(),
    riskyParameters: createRiskyParameters(loadRiskyKinds(join(dataFolder, 'mcp/parameters.yaml'))),
    privileges: loadPrivileges(join(dataFolder, 'signals/privileges.yaml')),
    toolTables: readTables(join(dataFolder, 'tools')),
    feeds,
    pepper,
    secrets: createTenantSecrets(pepper),
    vault,
    throttles: createAuthThrottles(place.workers),
    approvals: createApprovalDesk(store),
    incidents,
    answers,
    events: createEvents(store, log),
    log,
    registeredTenants: new Set(await store.registeredTenants()),
    ownListeners,
    controlUrl: () => `${config.control.tls ? 'https' : 'http'}://${bound().control[0]}`,
    status,
  };
  return { foundations, authority, feedConnections };
}

let injections: InjectionReader | undefined;

/** The phrases come with the program and take a quarter of a second to prepare: the same for all gateways of a process. */
function packagedInjections(): InjectionReader {
  injections ??= createInjectionReader(loadPhrasebook(join(dataFolder, 'injection')));
  return injections;
}

let meanings: MeaningReader | undefined;

/** The same of the lexicon. */
function packagedMeanings(): MeaningReader {
  meanings ??= loadMeanings(join(dataFolder, 'meaning'));
  return meanings;
}

function toListenerAddress(bound: string): ListenerAddress[] {
  const [, address = '', port = ''] = /^\[?([^\]]*)\]?:(\d+)$/.exec(bound) ?? [];
  return isIP(address) ? [{ address, port: Number(port) }] : [];
}
