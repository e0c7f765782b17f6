import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import type { RedisAddress } from '../../src/state/redis/link/connection.ts';
import type { IssuedCertificate } from './certificates.ts';
import { needProgram } from './programs.ts';

export interface RedisServer {
  readonly host: string;
  readonly port: number;
  /** Where it speaks TLS, if it was given a certificate. */
  readonly tlsPort: number;
  readonly address: RedisAddress;
  /** One command, as the default user. */
  command(name: string, ...args: readonly (string | number)[]): Promise<unknown>;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  /** Again on the same port, with the same files. */
  start(): Promise<void>;
}

const host = '127.0.0.1';
const waitMsMax = 30_000;
const pollMs = 25;
const portsTried = 20;

/** Below the ports that the kernel gives away by itself; a cluster node takes another one, 10000 above. */
const somePort = (): number => 12_000 + Math.floor(Math.random() * 9_000);

const tlsPortOf = (port: number): number => port + 10_000;

/** Files in `dir`, and the arguments that name them. */
function writeTls(dir: string, { certPem, keyPem }: IssuedCertificate, port: number): string[] {
  const [certFile, keyFile] = [join(dir, 'tls.pem'), join(dir, 'tls-key.pem')];
  writeFileSync(certFile, certPem);
  writeFileSync(keyFile, keyPem);
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', certFile];
  return ['--tls-port', String(port), '--tls-auth-clients', 'no', ...files];
}

/** Asks until it is so; rejects after half a minute. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + waitMsMax;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`still not: ${what}`);
    await sleep(pollMs);
  }
}

async function commandOf(port: number, name: string, args: readonly (string | number)[]): Promise<unknown> {
  const client = new Redis({ host, port, lazyConnect: true, retryStrategy: null, connectTimeout: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await client.call(name, ...args.map(String));
  } finally {
    client.disconnect();
  }
}

/** Whether it has come up; a port that another one has is not ours. */
async function isUp(child: ChildProcess, port: number): Promise<boolean> {
  let isReady = false;
  await until(`a Redis on port ${port}`, async () => {
    if (child.exitCode !== null) return true;
    const info = String(await commandOf(port, 'INFO', ['server']));
    isReady = info.includes(`process_id:${child.pid}\r\n`);
    return isReady && (await commandOf(port, 'PING', [])) === 'PONG';
  });
  return isReady && child.exitCode === null;
}

export interface RedisOptions {
  readonly dir?: string;
  readonly args?: readonly string[];
  /** Asks nobody else for a certificate. */
  readonly tls?: IssuedCertificate;
}

/** A real server with an append-only file in a directory of the test; undefined where the machine has none. */
export async function startRedis(
  t: Test,
  { dir = t.testdir(), args = [], tls }: RedisOptions = {},
): Promise<RedisServer | undefined> {
  const program = needProgram(t, 'redis-server');
  if (program === undefined) return undefined;
  let child: ChildProcess | undefined;
  let port = 0;

  async function stop(): Promise<void> {
    const running = child;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    running.kill('SIGKILL');
    await ended;
  }
  t.teardown(stop);

  async function spawnOn(path: string): Promise<boolean> {
    const fixed = ['--bind', host, '--port', String(port), '--dir', dir, '--save', '', '--appendonly', 'yes'];
    const tlsArgs = tls ? writeTls(dir, tls, tlsPortOf(port)) : [];
    child = spawn(path, [...fixed, '--appendfsync', 'always', ...tlsArgs, ...args], { stdio: 'ignore' });
    return isUp(child, port);
  }

  for (let tries = 0; ; tries += 1) {
    port = somePort();
    if (await spawnOn(program)) break;
    await stop();
    if (tries === portsTried) throw new Error('there is no free port for Redis');
  }
  return {
    host,
    port,
    tlsPort: tlsPortOf(port),
    address: {
      cluster: false,
      tls: false,
      nodes: [{ host, port }],
      username: null,
      password: null,
      database: 0,
    },
    command: (name, ...rest) => commandOf(port, name, rest),
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
    kill: stop,
    async start() {
      if (!(await spawnOn(program))) throw new Error(`Redis does not come up on port ${port} again`);
    },
  };
}

/** The rules for the user that `docs/administration/redis.md` tells operators to make, without its password and with the prefix of the tests. */
export function documentedAcl(): readonly string[] {
  const text = readFileSync(new URL('../../docs/administration/redis.md', import.meta.url), 'utf8');
  const [, rules = ''] = /^ACL SETUSER postern on >PASSWORD ~postern:\* ([^`]*)```/m.exec(text) ?? [];
  return ['~p*', ...rules.trim().split(/\s+/)];
}

export interface RedisCluster {
  readonly address: RedisAddress;
  readonly masters: readonly RedisServer[];
  /** Each of the master with the same place; empty where none were asked for. */
  readonly replicas: readonly RedisServer[];
}

const slots = 16_384;

/** Three masters, with a replica each where `withReplicas`; undefined where the machine has no Redis. */
export async function startRedisCluster(
  t: Test,
  { withReplicas = false } = {},
): Promise<RedisCluster | undefined> {
  const count = withReplicas ? 6 : 3;
  const dirs = t.testdir(Object.fromEntries(Array.from({ length: count }, (_, at) => [`node${at}`, {}])));
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    '1000',
    '--repl-diskless-sync-delay',
    '0',
  ];
  const servers: RedisServer[] = [];
  for (let at = 0; at < count; at += 1) {
    const server = await startRedis(t, { dir: join(dirs, `node${at}`), args });
    if (!server) return undefined;
    servers.push(server);
  }
  const masters = servers.slice(0, 3);
  const replicas = servers.slice(3);
  for (const [at, master] of masters.entries()) {
    const [first, end] = [Math.ceil((slots * at) / 3), Math.ceil((slots * (at + 1)) / 3)];
    await master.command('CLUSTER', 'ADDSLOTSRANGE', first, end - 1);
    await master.command('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
  }
  for (const server of servers.slice(1)) await server.command('CLUSTER', 'MEET', host, masters[0]?.port ?? 0);
  const isWhole = async (server: RedisServer): Promise<boolean> => {
    const info = String(await server.command('CLUSTER', 'INFO'));
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${count}\r\n`);
  };
  for (const server of servers) await until('a cluster that knows its nodes', () => isWhole(server));
  for (const [at, replica] of replicas.entries()) {
    const master = masters[at];
    await replica.command('CLUSTER', 'REPLICATE', String(await master?.command('CLUSTER', 'MYID')));
    await until('a replica that has its master', async () =>
      String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
    );
  }
  const nodes = masters.map(({ port }) => ({ host, port }));
  const address = { cluster: true, tls: false, nodes, username: null, password: null, database: 0 };
  return { address, masters, replicas };
}
