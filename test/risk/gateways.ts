import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { loadPepper } from '../../src/daemon/start/pepper.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { startRedis } from '../support/redis.ts';
import { listedUrls } from './attacks/index.ts';
import { clockHeader } from './clock-header.ts';
import type { Week } from './week.ts';
import type { Agent } from './workforce.ts';

/* Daemons that live in the week: they know its agents, and go by its time. */

export interface Gateways {
  readonly count: number;
  /** Asks the control plane of one of the daemons, at a time of the week. */
  ask(daemon: number, request: Request): Promise<Reply>;
  /** Of the administration: `Bearer …`. */
  readonly admin: string;
  /** Of the agent's key. */
  authorizationOf(agent: Agent): string;
  /** What the daemons have logged of things that went wrong in them. */
  errors(): readonly unknown[];
}

export interface Request {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
  readonly body?: unknown;
}

export interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into field by field
  readonly body: any;
}

/**
 * One daemon with the embedded state, or several that share a Redis; undefined where the machine has none. They end with the
 * test.
 */
export async function startGateways(t: Test, week: Week, daemons: number): Promise<Gateways | undefined> {
  const redis = daemons > 1 ? await startRedis(t, { args: ['--appendfsync', 'no'] }) : undefined;
  if (daemons > 1 && !redis) return undefined;
  const root = mkdtempSync(join(tmpdir(), 'postern-week-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const adminSecret = randomBytes(24).toString('hex');
  const files = { vaultKey: join(root, 'vault.key'), feed: join(root, 'urlhaus.csv') };
  writeFileSync(files.vaultKey, hash('sha256', 'the vault of the week'), { mode: 0o600 });
  writeFileSync(files.feed, toFeed(listedUrls));
  const state = redis ? `redis://${redis.host}:${redis.port}/0` : 'embedded:./data';
  const config = stringify(toConfig(week.agents, { state, adminSecret, ...files }));
  const pepper = pepperOnRedis(files.vaultKey);
  const clock = new URL(`./clock-preload.ts?from=${week.startMs}`, import.meta.url).href;
  const started: Daemon[] = [];
  for (let number = 0; number < daemons; number += 1) {
    const dir = join(root, `daemon${number}`);
    mkdirSync(join(dir, 'data'), { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, 'postern.yaml'), config);
    if (!redis) writeFileSync(join(dir, 'data', 'pepper'), pepper, { mode: 0o600 });
    const args = ['--config', join(dir, 'postern.yaml')];
    started.push(await startDaemon(t, dir, args, [`--import=${clock}`]));
  }
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const ask: Gateways['ask'] = (daemon, request) => send(agent, started[daemon]?.controlUrl ?? '', request);
  const admin = `Bearer ${adminSecret}`;
  const keys = new Map<string, string>();
  for (const { id, name } of week.agents) {
    const body = { tenant_id: 'acme', name, default_agent_id: id };
    const made = await ask(0, {
      atMs: week.startMs,
      method: 'POST',
      path: '/v1/keys',
      authorization: admin,
      body,
    });
    if (made.status !== 201) throw new Error(`minting answered ${made.status}: ${made.body?.detail}`);
    keys.set(id, made.body.key);
  }
  return {
    count: daemons,
    ask,
    admin,
    authorizationOf: ({ id }) => `Bearer ${keys.get(id)}`,
    // Timers are not touched, so the feed is refreshed once and grows old.
    errors: () =>
      started.flatMap(({ log }) => log).filter(({ msg }) => msg !== 'a threat feed has a problem'),
  };
}

/**
 * In hex. Which pieces of an answer are remembered goes by keys that follow from the pepper: two lives are the same only where that is, for
 * now and then two lists that have little in common share the pieces that one pepper in a hundred chooses.
 */
function pepperOnRedis(vaultKeyFile: string): string {
  const text = stringify({ state: { url: 'redis://127.0.0.1/0' }, vault: { key_file: vaultKeyFile } });
  return loadPepper(parseConfig(text, { file: undefined, env: {} }), pino({ enabled: false })).toString(
    'hex',
  );
}

/** As URLhaus publishes what it knows. */
const toFeed = (urls: readonly string[]): string =>
  urls
    .map((url, at) => {
      const id = 3_900_001 + at;
      const row = [
        id,
        '2026-05-30 10:14:05',
        url,
        'online',
        '2026-05-30 10:14:05',
        'malware_download',
        'exe',
      ];
      return [...row, `https://urlhaus.abuse.ch/url/${id}/`, 'somebody'].map((it) => `"${it}"`).join(',');
    })
    .join('\n')
    .replace(/^/, '# id,dateadded,url,url_status,last_online,threat,tags,urlhaus_link,reporter\n')
    .concat('\n');

interface Setting {
  readonly state: string;
  readonly adminSecret: string;
  readonly vaultKey: string;
  readonly feed: string;
}

function toConfig(agents: readonly Agent[], { state, adminSecret, vaultKey, feed }: Setting): object {
  return {
    proxy: { listen: '127.0.0.1:0' },
    control: { listen: '127.0.0.1:0', admin_secret: adminSecret },
    // A busy machine must not look like a state that is away.
    state: { url: state, timeout: '20s' },
    // Bodies here are small, and threads take a second of the processor at each start.
    reading: { threads: 0 },
    vault: { key_file: vaultKey },
    tenants: [
      {
        id: 'acme',
        plan: 'enterprise',
        environments: ['production'],
        org_domains: ['acme.example'],
        org_accounts: { github: ['acme'], aws: ['123456789012'], zendesk: ['acme'] },
        internal: { hosts: ['*.corp.acme.example'] },
      },
    ],
    agents: agents.map(({ id, name, kind }) => ({
      id,
      tenant: 'acme',
      env: 'production',
      name,
      runtime_type: kind.runtimeType,
    })),
    feeds: [{ name: 'urlhaus', url: `file://${feed}`, refresh: '1h' }],
    log: { level: 'error' },
  };
}

async function send(agent: http.Agent, controlUrl: string, asked: Request): Promise<Reply> {
  const { atMs, method, path, authorization, body } = asked;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const request = http.request(new URL(path, controlUrl), {
    agent,
    method,
    headers: {
      authorization,
      [clockHeader]: String(atMs),
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    },
  });
  request.end(text);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const answer = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode ?? 0, body: answer === '' ? undefined : JSON.parse(answer) };
}
