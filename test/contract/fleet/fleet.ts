import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test as TapTest } from 'tap';
import { stringify } from 'yaml';
import { type Daemon, startDaemon } from '../../support/daemon.ts';
import { type RedisServer, startRedis, startRedisCluster } from '../../support/redis.ts';
import { startUpstream, type TestUpstream } from '../../support/upstream.ts';
import { openTenant, type Reply, type Request, send, type Tenant, type Test } from '../suite/lab.ts';

/*
 * Several daemons that share one state, each a process of its own with its own local files, and the upstreams behind them: what is
 * promised on every node is tried on every node.
 */

export interface Fleet {
  readonly members: readonly Member[];
  /** Undefined: the state is embedded, or on a cluster. */
  readonly redis: RedisServer | undefined;
  readonly upstreams: Upstreams;
  readonly adminSecret: string;
  /** To the next daemon, by turns. */
  call(request: Request): Promise<Reply>;
  /** With a key of its own. */
  tenant(id: string): Promise<Tenant>;
  /** The clock that rates and quotas go by, in ms. */
  clockMs(): Promise<number>;
}

/** One over plain HTTP, one over TLS; both note what reaches them. */
export interface Upstreams {
  readonly plain: TestUpstream;
  readonly secure: TestUpstream;
}

/** A daemon with a place that outlives its process. */
export interface Member {
  readonly dir: string;
  readonly controlUrl: string;
  readonly proxyUrl: string;
  readonly caPem: string;
  /** Ends the process by the signal. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Again in the same place; its listeners have other ports. */
  start(): Promise<void>;
}

export interface FleetSetup {
  readonly daemons: number;
  /** Else the state is embedded, and there is one daemon. */
  readonly isOnRedis: boolean;
  /** On a Redis Cluster of three masters. */
  readonly isOnCluster?: boolean;
  /** Sections of the configuration, beside those that make the fleet. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Of a command to Redis. A busy machine must not look like a state that is away, where that is not the question. */
  readonly stateTimeout?: string;
}

export const plainHost = 'plain.test.example';
export const secureHost = 'secure.test.example';

const loopback = '127.0.0.1';

/** Starts the upstreams, then the daemons. All of them end with the test. Undefined where the machine lacks Redis. */
export async function startFleet(t: TapTest, setup: FleetSetup): Promise<Fleet | undefined> {
  const redis = setup.isOnRedis ? await startRedis(t) : undefined;
  const cluster = setup.isOnCluster ? await startRedisCluster(t) : undefined;
  if ((setup.isOnRedis && !redis) || (setup.isOnCluster && !cluster)) return undefined;
  const nodes = cluster?.masters ?? (redis ? [redis] : []);
  const stateUrl = stateUrlOf(nodes, cluster !== undefined);
  const upstreams = {
    plain: await startUpstream(t, undefined, { tls: false }),
    secure: await startUpstream(t),
  };
  const root = mkdtempSync(join(tmpdir(), 'postern-fleet-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const adminSecret = randomBytes(24).toString('hex');
  const vaultKeyFile = join(root, 'vault.key');
  writeFileSync(vaultKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const text = stringify(toConfig(setup, { stateUrl, upstreams, adminSecret, vaultKeyFile }));
  const dirs = Array.from({ length: setup.daemons }, (_, number) => join(root, `daemon${number}`));
  const members = await Promise.all(dirs.map((dir) => openMember(t, dir, text)));
  let turn = 0;
  const call = (request: Request): Promise<Reply> => {
    turn += 1;
    return send((members[turn % members.length] as Member).controlUrl, request);
  };
  return {
    members,
    redis,
    upstreams,
    adminSecret,
    call,
    tenant: (id) => openTenant(call, adminSecret, id),
    clockMs: async () => (redis ? timeOf(redis) : Date.now()),
  };
}

async function timeOf(redis: RedisServer): Promise<number> {
  const [seconds, microseconds] = (await redis.command('TIME')) as string[];
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

async function openMember(t: Test, dir: string, configText: string): Promise<Member> {
  mkdirSync(dir);
  const configFile = join(dir, 'postern.yaml');
  writeFileSync(configFile, configText);
  const start = (): Promise<Daemon> => startDaemon(t, dir, ['--config', configFile]);
  let daemon = await start();
  const caPem = readFileSync(daemon.caFile, 'utf8');
  return {
    dir,
    caPem,
    get controlUrl() {
      return daemon.controlUrl;
    },
    get proxyUrl() {
      return daemon.proxyUrl;
    },
    async end(signal) {
      await daemon.end(signal);
    },
    async start() {
      daemon = await start();
    },
  };
}

/** Undefined: the state is embedded. */
function stateUrlOf(nodes: readonly RedisServer[], isCluster: boolean): string | undefined {
  if (nodes.length === 0) return undefined;
  const addresses = nodes.map(({ host, port }) => `${host}:${port}`).join(',');
  return isCluster ? `redis+cluster://${addresses}` : `redis://${addresses}/0`;
}

interface Shared {
  readonly stateUrl: string | undefined;
  readonly upstreams: Upstreams;
  readonly adminSecret: string;
  readonly vaultKeyFile: string;
}

/** The same file for all; what is relative in it is each daemon's own. */
function toConfig(
  { config, stateTimeout = '20s' }: FleetSetup,
  { stateUrl, upstreams, adminSecret, vaultKeyFile }: Shared,
): Record<string, unknown> {
  const { plain, secure } = upstreams;
  return {
    proxy: { listen: `${loopback}:0` },
    control: { listen: `${loopback}:0`, admin_secret: adminSecret },
    state: stateUrl ? { url: stateUrl, dir: './data', timeout: stateTimeout } : { url: 'embedded:./data' },
    vault: { key_file: vaultKeyFile },
    authority: { cert: './certs/ca.pem', key: './certs/ca-key.pem' },
    upstream: {
      allow_private: ['127.0.0.0/8'],
      ca_files: [secure.caFile],
      resolve: [
        { host: plainHost, address: loopback, port: plain.port },
        { host: secureHost, address: loopback, port: secure.port },
      ],
    },
    limits: { max_connections_per_agent: 10_000 },
    // Bodies here are small, and threads take a second of the processor at each start.
    reading: { threads: 0 },
    log: { level: 'error' },
    ...config,
  };
}
