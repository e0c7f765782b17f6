import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { apiRoutes } from '../api/index.ts';
import { createRouter } from '../api/router.ts';
import { loadCatalogue } from '../catalogue/catalogue.ts';
import { ConfigError, findConfigFile, loadConfig, validateConfig } from '../config/load.ts';
import { changedFixedKeys } from '../config/reload.ts';
import type { Config, KeyConfig } from '../config/schema.ts';
import { createEngine } from '../detectors/engine.ts';
import { loadDetectors } from '../detectors/load.ts';
import { peppered } from '../key-text.ts';
import { type Log, openLog } from '../log.ts';
import type { Gate } from '../pipeline/gate.ts';
import { createConnect } from '../proxy/connect.ts';
import { createForward, type Tunnel } from '../proxy/forward.ts';
import { createKeyConnections } from '../proxy/key-connections.ts';
import { openEmbeddedStore } from '../state/embedded/store.ts';
import { openJournal } from '../state/journal.ts';
import { loadOrMakeSecret } from '../state/secrets.ts';
import type { KeyRecord, Store } from '../state/store.ts';
import { openAuthority } from '../tls/authority.ts';
import { createContexts } from '../tls/contexts.ts';
import { type FirstStart, firstStartConfig, firstStartRecords, openFirstStart } from './first-start.ts';
import { createGate, type Foundations } from './generation.ts';
import { createHttpServer, createInnerServer, limitConnections, listen } from './listeners.ts';
import { ignoredKeys, refusedKeys } from './not-yet.ts';

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

const pepperBytes = 32;
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
  const log = openLog(config.log);
  const stateDir = config.state.dir;
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });

  const closers: (() => Promise<void> | void)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closers.reverse()) await close();
  };
  try {
    const store = await openEmbeddedStore({ dir: stateDir });
    closers.push(() => store.close());
    const pepper = loadOrMakeSecret(join(stateDir, 'pepper'), pepperBytes);
    const authority = openAuthority({
      certFile: config.authority.cert,
      keyFile: config.authority.key,
      nowMs: Date.now(),
    });
    const journal = await openJournal({
      dir: join(stateDir, 'journal'),
      ship: (calls) => store.recordCalls(calls),
      onError: (error) => log.error({ err: error }, 'the journal has a problem'),
    });
    closers.push(() => journal.close());
    await seed(store, config, pepper, firstStart);

    const bound: { proxy: string[]; control: string[] } = { proxy: [], control: [] };
    const status = {
      generation: 1,
      loadedAtMs: Date.now(),
      lastError: null as string | null,
      isDraining: false,
    };
    const foundations: Foundations = {
      store,
      journal,
      engine: createEngine(loadDetectors(join(dataFolder, 'detectors'))),
      catalogue: loadCatalogue(join(dataFolder, 'tools')),
      pepper,
      log,
      registeredTenants: new Set(await store.registeredTenants()),
      ownListeners: () => [...bound.proxy, ...bound.control].flatMap(toListenerAddress),
      controlUrl: () => `http://${bound.control[0]}`,
      status: () => status,
    };
    warn(config, log);
    let gate = createGate(config, foundations);
    closers.push(() => gate.upstream.close());

    const servers = openServers(() => gate, authority, log);
    closers.push(() => servers.close());
    for (const address of config.proxy.listen) bound.proxy.push(await listen(servers.newProxy(), address));
    for (const address of config.control.listen)
      bound.control.push(await listen(servers.newControl(), address));
    const proxyUrl = `http://${bound.proxy[0]}`;
    const controlUrl = foundations.controlUrl();
    writeListening(stateDir, bound);
    if (config.pidFile) writeFileSync(config.pidFile, `${process.pid}\n`);

    async function reload(): Promise<boolean> {
      try {
        const next = read();
        const changed = changedFixedKeys(config, next);
        if (changed.length > 0) {
          throw new ConfigError(
            next.file,
            changed.map((path) => ({
              path,
              line: undefined,
              message: 'cannot be changed by a reload; restart',
            })),
          );
        }
        const nextGate = createGate(next, foundations);
        await seed(store, next, pepper, firstStart);
        const before = gate;
        gate = nextGate;
        config = next;
        status.generation += 1;
        status.loadedAtMs = Date.now();
        status.lastError = null;
        log.level = next.log.level;
        warn(next, log);
        log.info({ generation: status.generation }, 'configuration reloaded');
        before.retire();
        return true;
      } catch (error) {
        status.lastError = error instanceof Error ? error.message : String(error);
        const mistakes = error instanceof ConfigError ? error.mistakes : undefined;
        log.error(
          mistakes ? { mistakes } : { err: error },
          'the configuration was refused; the old one stays',
        );
        return false;
      }
    }

    let stopping: Promise<void> | undefined;
    let reloading: Promise<unknown> = Promise.resolve();
    return {
      proxyUrl,
      controlUrl,
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
          await closeAll();
          if (config.pidFile) rmSync(config.pidFile, { force: true });
        })();
        return stopping;
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** What is allowed and yet unwise, and what has no effect. */
function warn(config: Config, log: Log): void {
  for (const warning of config.warnings) log.warn({ warning }, 'the configuration is taken with a warning');
  for (const ignored of ignoredKeys(config)) log.warn(ignored);
}

/** The listening servers and the inner one that tunnels are handed to. */
function openServers(gate: () => Gate, authority: ReturnType<typeof openAuthority>, log: Log) {
  const { limits } = gate().config;
  const connections = createKeyConnections();
  const forward = createForward(gate, connections, log);
  const tunnels = new WeakMap<object, Tunnel>();
  const sockets = new Set<Duplex>();
  const inner = createInnerServer(limits, (request, response) =>
    forward(request, response, tunnels.get(request.socket)),
  );
  const connect = createConnect({
    gate,
    contexts: createContexts(authority, { now: Date.now }),
    connections,
    log,
    serve(socket, tunnel) {
      tunnels.set(socket, tunnel);
      inner.emit('connection', socket);
    },
  });
  const api = createRouter(apiRoutes, gate, log);
  const servers: Server[] = [];
  const track = (server: Server): Server => {
    limitConnections(server, () => gate().config.limits.maxConnections);
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    servers.push(server);
    return server;
  };
  return {
    newProxy: () =>
      track(
        createHttpServer(limits, (request, response) => forward(request, response, undefined)).on(
          'connect',
          connect,
        ),
      ),
    newControl: () => track(createHttpServer(limits, api)),
    async drain(graceMs: number): Promise<void> {
      await drain(servers, inner, sockets, graceMs);
    },
    close(): void {
      for (const server of servers) server.close();
      inner.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Stops listening and waits until every running request has its answer. Idle connections are closed at once. */
async function drain(
  servers: readonly Server[],
  inner: Server,
  sockets: ReadonlySet<Duplex>,
  graceMs: number,
): Promise<void> {
  const closed = servers.map((server) => new Promise((done) => server.close(done)));
  const tick = setInterval(() => {
    for (const server of [...servers, inner]) server.closeIdleConnections();
  }, 50);
  const grace = AbortSignal.timeout(graceMs);
  await Promise.race([
    Promise.all(closed),
    new Promise((done) => grace.addEventListener('abort', done, { once: true })),
  ]);
  clearInterval(tick);
  for (const socket of sockets) socket.destroy();
}

/** Agents and keys of the configuration, and what the first start made: each is there once, however often this runs. */
async function seed(
  store: Store,
  config: Config,
  pepper: Buffer,
  firstStart: FirstStart | undefined,
): Promise<void> {
  const nowMs = Date.now();
  for (const agent of config.agents) {
    const standing = await store.ensureAgent({
      agentId: agent.id,
      tenantId: agent.tenantId,
      envName: agent.envName,
      name: agent.name,
      runtimeType: agent.runtimeType,
      status: 'active',
      createdAtMs: nowMs,
    });
    if (standing.tenantId !== agent.tenantId) {
      throw new ConfigError(config.file, [
        {
          path: 'agents',
          line: undefined,
          message: `the agent ${agent.id} belongs to another tenant already`,
        },
      ]);
    }
  }
  for (const key of config.keys) await seedKey(store, toKeyRecord(key, pepper, config, nowMs), 'config');
  if (!firstStart) return;
  const { agent, key } = firstStartRecords(firstStart, (digest) => peppered(digest, pepper), nowMs);
  await store.ensureAgent(agent);
  await seedKey(store, key, 'first-start');
}

/** Adds a key unless it is there; one that was revoked stays revoked. */
async function seedKey(store: Store, key: KeyRecord, operator: string): Promise<void> {
  if (await store.keyById(key.tenantId, key.keyId)) return;
  await store.addKey(key, {
    tenantId: key.tenantId,
    atMs: key.createdAtMs,
    kind: 'key.created',
    operator,
    subject: key.keyId,
    details: { prefix: key.prefix, name: key.name, agent_id: key.agentId },
  });
}

/** A key of the configuration, of which only the digest is known: its id follows from it, its prefix says so. */
function toKeyRecord(key: KeyConfig, pepper: Buffer, config: Config, nowMs: number): KeyRecord {
  const { hash, tenantId, agentId } = key;
  const agentEnv = config.agents.find((it) => it.id === agentId)?.envName;
  return {
    keyId: `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`,
    hash: peppered(hash, pepper),
    prefix: 'config',
    type: 'live',
    tenantId,
    envName: key.envName ?? agentEnv ?? config.tenants.get(tenantId)?.environments[0] ?? 'default',
    envNames: [],
    agentId,
    name: key.name,
    description: key.description,
    permissions: key.permissions,
    ipAllowlist: key.ipAllowlist,
    createdAtMs: nowMs,
    expiresAtMs: key.expiresAtMs,
    revokedAtMs: null,
    perMinute: null,
    requireNonce: false,
  };
}

/** For scripts that start a daemon on free ports. Replaced in one step, so that nobody reads half of it. */
function writeListening(
  stateDir: string,
  bound: { proxy: readonly string[]; control: readonly string[] },
): void {
  const file = join(stateDir, 'listening.json');
  writeFileSync(`${file}.new`, `${JSON.stringify({ ...bound, pid: process.pid })}\n`);
  renameSync(`${file}.new`, file);
}

function toListenerAddress(bound: string): { address: string; port: number }[] {
  const [, address = '', port = ''] = /^\[?([^\]]*)\]?:(\d+)$/.exec(bound) ?? [];
  return isIP(address) ? [{ address, port: Number(port) }] : [];
}
