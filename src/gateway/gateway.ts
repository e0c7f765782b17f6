import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { readTables } from '../catalogue/catalogue.ts';
import { ConfigError, findConfigFile, loadConfig, validateConfig } from '../config/load.ts';
import { changedFixedKeys } from '../config/reload.ts';
import type { Config } from '../config/schema.ts';
import { loadPhrasebook } from '../detectors/injection/phrasebook.ts';
import { createInjectionReader, type InjectionReader } from '../detectors/injection/reader.ts';
import { loadMeanings, type MeaningReader } from '../detectors/meaning/reader.ts';
import { createDownload } from '../feeds/download.ts';
import { openFeeds } from '../feeds/feeds.ts';
import { type Log, openLog } from '../log.ts';
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
import { type FeedConnections, openFeedConnections } from './feed-connections.ts';
import { type FirstStart, firstStartConfig, openFirstStart } from './first-start.ts';
import { withFreshTraces } from './fresh-traces.ts';
import { createGate, type Foundations } from './generation.ts';
import { readListenersTls } from './listener-tls.ts';
import { listen } from './listeners.ts';
import { ignoredKeys, refusedKeys } from './not-yet.ts';
import { loadPepper } from './pepper.ts';
import { seed } from './seed.ts';
import { openServers } from './servers.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Gateway {
  /** URLs of the first listener of each kind. */
  readonly proxyUrl: string;
  readonly controlUrl: string;
  readonly caFile: string;
  readonly firstStart: FirstStart | undefined;
  readonly log: Log;
  /** Reads the configuration again; answers whether it was taken. A refused one leaves everything as it was. */
  reload(): Promise<boolean>;
  /** Takes no new connections, lets running requests end for at most `graceMs`, writes everything down, and is gone. */
  stop(graceMs?: number): Promise<void>;
}

const graceMsDefault = 30_000;
const dataFolder = resolve(import.meta.dirname, '../../config');

/** Opens everything that the daemon stands on and begins to listen. Throws, with nothing left open, when something is wrong. */
export async function startGateway(configFile: string | undefined, env: Environment): Promise<Gateway> {
  const file = findConfigFile(configFile, env);
  const firstStart = file === undefined ? openFirstStart(env) : undefined;
  const read = (): Config => {
    const config = firstStart
      ? validateConfig(firstStartConfig(firstStart), { file: undefined, env })
      : loadConfig(file, env);
    const gaps = refusedKeys(config);
    if (gaps.length > 0) throw new ConfigError(config.file, gaps);
    return config;
  };
  let config = read();
  const tls = readListenersTls(config);
  const log = openLog(config.log);
  const closers = new Closers();
  try {
    const bound: Bound = { proxy: [], control: [] };
    const status = {
      generation: 1,
      loadedAtMs: Date.now(),
      lastError: null as string | null,
      isDraining: false,
    };
    const { foundations, authority, feedConnections } = await openFoundations(config, {
      log,
      bound,
      status,
      closers,
    });
    const seeding = { ...foundations, firstStart };
    await seed(config, seeding);
    warn(config, log);
    let gate = createGate(config, foundations);
    closers.add(() => gate.upstream.close());
    const servers = openServers(() => gate, authority, tls, log);
    closers.add(() => servers.close());
    for (const address of config.proxy.listen) bound.proxy.push(await listen(servers.newProxy(), address));
    for (const address of config.control.listen)
      bound.control.push(await listen(servers.newControl(), address));
    writeListening(config.state.dir, bound);
    if (config.pidFile) writeFileSync(config.pidFile, `${process.pid}\n`);

    /** A whole new generation, or none: the swap is the last thing that can fail. */
    async function takeOver(next: Config): Promise<void> {
      const changed = changedFixedKeys(config, next);
      if (changed.length > 0) {
        const message = 'cannot be changed by a reload; restart';
        throw new ConfigError(
          next.file,
          changed.map((path) => ({ path, line: undefined, message })),
        );
      }
      const nextTls = readListenersTls(next);
      const nextGate = createGate(next, foundations);
      await seed(next, seeding);
      feedConnections.use(next);
      await foundations.feeds.use(next.feeds);
      const before = gate;
      gate = nextGate;
      servers.showTls(nextTls);
      config = next;
      before.retire();
      status.generation += 1;
      status.loadedAtMs = Date.now();
      status.lastError = null;
      log.level = next.log.level;
      warn(next, log);
      log.info({ generation: status.generation }, 'configuration reloaded');
    }

    async function reload(): Promise<boolean> {
      try {
        await takeOver(read());
        return true;
      } catch (error) {
        status.lastError = error instanceof Error ? error.message : String(error);
        const reason = error instanceof ConfigError ? { mistakes: error.mistakes } : { err: error };
        log.error(reason, 'the configuration was refused; the old one stays');
        return false;
      }
    }

    let stopping: Promise<void> | undefined;
    let reloading: Promise<unknown> = Promise.resolve();
    return {
      proxyUrl: `${tls.proxy ? 'https' : 'http'}://${bound.proxy[0]}`,
      controlUrl: foundations.controlUrl(),
      caFile: authority.certFile,
      firstStart,
      log,
      reload() {
        // One after the other: two signals in a row must not build two generations at once.
        const next = reloading.then(reload);
        reloading = next;
        return next;
      },
      stop(graceMs = graceMsDefault) {
        stopping ??= (async () => {
          status.isDraining = true;
          await servers.drain(graceMs);
          await closers.close();
          if (config.pidFile) rmSync(config.pidFile, { force: true });
        })();
        return stopping;
      },
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** Addresses as URLs have them, in the order of the configuration. */
interface Bound {
  readonly proxy: string[];
  readonly control: string[];
}

/** What was opened, to be closed in the opposite order; once. */
class Closers {
  readonly #steps: (() => Promise<void> | void)[] = [];

  add(step: () => Promise<void> | void): void {
    this.#steps.push(step);
  }

  async close(): Promise<void> {
    for (const step of this.#steps.splice(0).reverse()) await step();
  }
}

/** Opens what outlives reloads: state, journal, authority, and the data of detectors and tools. */
async function openFoundations(
  config: Config,
  { log, bound, status, closers }: { log: Log; bound: Bound; status: GateStatus; closers: Closers },
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
  const journal = await openJournal({
    dir: join(dir, 'journal'),
    ship: (calls) => store.recordCalls(calls),
    onError: (error) => log.error({ err: error }, 'the journal has a problem'),
  });
  closers.add(() => journal.close());
  // What a killed process left behind counts before the first call does: no quota and no use is given twice.
  await journal.flush();
  const incidents = createIncidentDesk(store, log);
  closers.add(() => incidents.close());
  const traces = withFreshTraces(store, journal);
  const answers = createAnswerDesk(traces, log);
  closers.add(() => answers.close());
  const ownListeners = (): ListenerAddress[] => [...bound.proxy, ...bound.control].flatMap(toListenerAddress);
  const feedConnections = openFeedConnections(config, ownListeners);
  const feeds = await openFeeds({
    feeds: config.feeds,
    dir: join(dir, 'feeds'),
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
    throttles: createAuthThrottles(),
    approvals: createApprovalDesk(store),
    incidents,
    answers,
    events: createEvents(store, log),
    log,
    registeredTenants: new Set(await store.registeredTenants()),
    ownListeners,
    controlUrl: () => `${config.control.tls ? 'https' : 'http'}://${bound.control[0]}`,
    status: () => status,
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

/** What is allowed and yet unwise, and what has no effect. */
function warn(config: Config, log: Log): void {
  for (const warning of config.warnings) log.warn({ warning }, 'the configuration is taken with a warning');
  for (const ignored of ignoredKeys(config)) log.warn(ignored);
}

/** For scripts that start a daemon on free ports. Replaced in one step, so that nobody reads half of it. */
function writeListening(stateDir: string, bound: Bound): void {
  const file = join(stateDir, 'listening.json');
  writeFileSync(`${file}.new`, `${JSON.stringify({ ...bound, pid: process.pid })}\n`);
  renameSync(`${file}.new`, file);
}

function toListenerAddress(bound: string): ListenerAddress[] {
  const [, address = '', port = ''] = /^\[?([^\]]*)\]?:(\d+)$/.exec(bound) ?? [];
  return isIP(address) ? [{ address, port: Number(port) }] : [];
}
