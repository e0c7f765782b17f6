import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Daemon, startDaemon } from '../../support/daemon.ts';
import { type Lab, openTenant, type Reply, type Request, send, type Tenant, type Test } from './lab.ts';

/** A daemon beside the one of the lab, with a configuration and a state of its own: for what holds for all tenants of a daemon. */
export interface Further {
  readonly daemon: Daemon;
  readonly controlUrl: string;
  readonly proxyUrl: string;
  readonly caPem: string;
  call(request: Request): Promise<Reply>;
  tenant(id: string): Promise<Tenant>;
  /** Replaces the configuration and has it read; the `config` of readyz afterwards. */
  reload(config: Config): Promise<Reply['body']>;
}

type Config = Readonly<Record<string, unknown>>;

const listen = { listen: '127.0.0.1:0' };

/** `name` is that of its state; `env` holds for the daemon alone, where undefined takes a variable away. */
export async function startFurther(
  t: Test,
  lab: Lab,
  name: string,
  config: Config,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Further> {
  const dir = mkdtempSync(join(tmpdir(), `postern-${name}-`));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const configFile = join(dir, 'postern.yaml');
  const base = {
    proxy: listen,
    control: listen,
    state: { url: lab.stateUrlFor(name), timeout: '20s' },
    // The daemon of the lab reads in threads, which take a second of the processor at each start.
    reading: { threads: 0 },
    log: { level: 'info' },
  };
  const write = (one: Config) => writeFileSync(configFile, stringify({ ...base, ...one }));
  write(config);
  const daemon = await withEnv(env, () => startDaemon(t, dir, ['--config', configFile]));
  const call = (request: Request) => send(daemon.controlUrl, request);
  return {
    daemon,
    controlUrl: daemon.controlUrl,
    proxyUrl: daemon.proxyUrl,
    caPem: readFileSync(daemon.caFile, 'utf8'),
    call,
    tenant: (id) => openTenant(call, lab.adminSecret, id),
    async reload(one) {
      write(one);
      const reloaded = daemon.logged('configuration reloaded');
      daemon.process.kill('SIGHUP');
      await reloaded;
      return (await call({ method: 'GET', path: '/readyz' })).body.config;
    },
  };
}

/** A daemon is handed down the variables of this process as they stand while it is started. */
async function withEnv<T>(
  env: Readonly<Record<string, string | undefined>>,
  run: () => Promise<T>,
): Promise<T> {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
  set(Object.entries(env));
  try {
    return await run();
  } finally {
    set(before);
  }
}

function set(variables: readonly (readonly [name: string, value: string | undefined])[]): void {
  for (const [name, value] of variables) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}
