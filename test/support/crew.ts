import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import { basic, openSecureTunnel, send } from './clients.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { adminSecret, agentId, apiClient, testConfig, writeTestConfig } from './gateway.ts';
import { type RedisServer, startRedis } from './redis.ts';
import { startUpstream, type UpstreamHandler } from './upstream.ts';

const admin = `Bearer ${adminSecret}`;
const mintFields = { tenant_id: 'acme', name: 'test', default_agent_id: agentId };
export const workers = 2;

/** A daemon with several workers. */
export interface Crew {
  readonly daemon: Daemon;
  readonly dir: string;
  readonly configFile: string;
  readonly redis: RedisServer;
  readonly key: string;
  readonly api: ReturnType<typeof apiClient>;
  readonly authority: string;
  /** The configuration that it was started with, with these sections over it. */
  write(config: Readonly<Record<string, unknown>>): void;
  /** A tunnel to the upstream; it ends with the test. */
  tunnel(): Promise<TLSSocket>;
  call(socket: TLSSocket, method?: string): Promise<number>;
}

/** A daemon with two workers on a Redis of its own; undefined where the machine has none. */
export async function startCrew(
  t: Test,
  config: Readonly<Record<string, unknown>> = {},
  onRequest: UpstreamHandler = (_request, response) => void response.end('ok'),
): Promise<Crew | undefined> {
  const redis = await startRedis(t);
  if (!redis) return undefined;
  const upstream = await startUpstream(t, onRequest);
  const setup = (sections: Readonly<Record<string, unknown>>) => ({
    upstream,
    config: {
      workers,
      log: { level: 'info' },
      state: { url: `redis://${redis.host}:${redis.port}/0`, dir: './local' },
      vault: { key_file: './vault.key' },
      pid_file: './postern.pid',
      ...config,
      ...sections,
    },
  });
  const { dir, configFile } = writeTestConfig(t, setup({}));
  writeFileSync(join(dir, 'vault.key'), randomBytes(32).toString('hex'), { mode: 0o600 });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const api = apiClient(daemon.controlUrl);
  const { key } = (await api('POST', '/v1/keys', mintFields, admin)).body;
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(daemon.caFile, 'utf8');
  return {
    daemon,
    dir,
    configFile,
    redis,
    key,
    api,
    authority,
    write: (sections) => {
      // In one step, as an editor does it.
      writeFileSync(`${configFile}.new`, stringify(testConfig(setup(sections))));
      renameSync(`${configFile}.new`, configFile);
    },
    async tunnel() {
      const target = { proxyUrl: daemon.proxyUrl, authorization: basic(key), authority, ca };
      const socket = await openSecureTunnel(target);
      t.teardown(() => socket.destroy());
      return socket;
    },
    call: async (socket, method = 'GET') =>
      (await send(socket, { method, path: '/x', headers: { host: authority } })).status,
  };
}

/** On a tunnel of its own, which is closed. */
export async function callOnce(crew: Crew, method: string): Promise<number> {
  const tunnel = await crew.tunnel();
  try {
    return await crew.call(tunnel, method);
  } finally {
    tunnel.destroy();
  }
}

/** Those that run, by the parent's children. */
export const workersOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

export const pidOf = ({ daemon }: Crew): number =>
  JSON.parse(readFileSync(join(daemon.caFile, '../../local/listening.json'), 'utf8')).pid;

export const isRunning = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

/** How many connections to a port of this machine each process holds. */
export function connectionsOf(pids: readonly number[], url: string): number[] {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const established = '01';
  const inodes = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${port}`) && state === established)
    .map((fields) => `socket:[${fields[9]}]`);
  const filesOf = (pid: number) =>
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return 'closed meanwhile';
      }
    });
  return pids.map((pid) => filesOf(pid).filter((it) => inodes.includes(it)).length);
}

export const ready = async ({ api }: Crew) => (await api('GET', '/readyz', undefined, '')).body;
