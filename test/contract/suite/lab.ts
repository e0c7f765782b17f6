import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { createTestAuthority } from '../../support/certificates.ts';
import { type Daemon, startDaemon } from '../../support/daemon.ts';
import { checkDescribed } from '../../support/described-answers.ts';
import { startRawUpstream, startUpstream, type TestUpstream } from '../../support/upstream.ts';
import { contractConfig, policyFile } from './config.ts';

/*
 * What the sentences of the contract are tried on: a daemon in a process of its own, its tenants, and an upstream over TLS that
 * tells what reached it.
 */

/** A test of tap, as far as the suite needs it to begin. */
export interface Test {
  teardown(close: () => void | Promise<void>): void;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into field by field
  readonly body: any;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  /** The whole field; absent: none is sent. */
  readonly authorization?: string;
  /** Text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Keeps connections open, for thousands of requests. */
  readonly agent?: http.Agent;
}

type Fields = object;

export interface Minted {
  readonly key: string;
  readonly key_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the whole answer of the mint
  readonly [field: string]: any;
}

/** A tenant with a live key of the default permissions. */
export interface Tenant {
  readonly id: string;
  readonly agentId: string;
  readonly key: string;
  readonly keyId: string;
  /** As its key. */
  api(method: string, path: string, body?: unknown): Promise<Reply>;
  /** With the administration secret, for this tenant. */
  admin(method: string, path: string, body?: unknown): Promise<Reply>;
  mint(fields?: Fields): Promise<Minted>;
  ephemeral(fields?: Fields): Promise<Minted>;
  /** A harmless call, with `fields` over it; as `key`, or the tenant's own. */
  scan(fields?: Fields, key?: string): Promise<Reply>;
  apply(rules: readonly unknown[], fields?: Fields): Promise<Reply>;
}

/** What holds the state of the daemons. */
export interface StateSetup {
  readonly url: string;
  /** Where it writes its files, beside the folder of the daemon. */
  readonly dirs: readonly string[];
  /** How often it was asked so far, by anybody; always 0 where the daemon itself is the state. */
  asked(): Promise<number>;
}

export interface Lab {
  readonly daemon: Daemon;
  /** For a further daemon: apart from the state of this one. */
  stateUrlFor(name: string): string;
  readonly state: StateSetup;
  /** All folders in which the daemon and its state keep something. */
  readonly dirs: readonly string[];
  readonly controlUrl: string;
  readonly proxyUrl: string;
  readonly caPem: string;
  readonly configFile: string;
  readonly adminSecret: string;
  readonly upstream: TestUpstream;
  call(request: Request): Promise<Reply>;
  /** The headers of a client that nobody has heard of yet: what it does wrong is held against none of the other tests. */
  fromElsewhere(): Readonly<Record<string, string>>;
  /** A further key of the tenant, with an agent of its own, at each call. */
  tenant(id: string): Promise<Tenant>;
}

export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Starts a daemon on the state. All of it ends with the test. */
export async function openLab(t: Test, state: StateSetup): Promise<Lab> {
  const upstream = await startUpstream(t, (request, response, body) => {
    const told = {
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: body.toString(),
    };
    const status = Number(/[?&]status=(\d{3})/.exec(request.url ?? '')?.[1] ?? 200);
    const echoed = String(request.headers.authorization ?? request.headers['x-api-key'] ?? 'none');
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'X-Echo': echoed,
      'X-Of-Upstream': 'yes',
    });
    response.end(JSON.stringify(told));
  });
  const dir = mkdtempSync(join(tmpdir(), 'postern-contract-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const configFile = join(dir, 'postern.yaml');
  const certificate = createTestAuthority().issue();
  const untrusted = await startUpstream(t, undefined, { certificate });
  const greet = (socket: net.Socket) => socket.end('220 This is not HTTP\r\n\r\n');
  const [broken, garbled] = [
    await startRawUpstream(t, greet, { tls: false }),
    await startRawUpstream(t, greet),
  ];
  const ports = {
    caFile: upstream.caFile,
    upstream: upstream.port,
    closed: await closedPort(),
    untrusted: untrusted.port,
    broken: broken.port,
    garbled: garbled.port,
  };
  writeFileSync(configFile, stringify(contractConfig(state.url, ports)));
  mkdirSync(join(dir, 'policies'));
  writeFileSync(join(dir, 'policies', 'filed.yaml'), policyFile);
  const adminSecret = randomBytes(24).toString('hex');
  // Handed down to the daemon, where a set variable wins over the file.
  process.env['SERVICE_API_KEYS_ADMIN_SECRET'] = adminSecret;
  t.teardown(() => {
    delete process.env['SERVICE_API_KEYS_ADMIN_SECRET'];
  });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const call = (request: Request): Promise<Reply> => send(daemon.controlUrl, request);
  let strangers = 0;
  return {
    daemon,
    stateUrlFor: (name) => (state.url.startsWith('embedded:') ? state.url : `${state.url}?prefix=${name}:`),
    state,
    dirs: [dir, ...state.dirs],
    controlUrl: daemon.controlUrl,
    proxyUrl: daemon.proxyUrl,
    caPem: readFileSync(daemon.caFile, 'utf8'),
    configFile,
    adminSecret,
    upstream,
    call,
    fromElsewhere: () => {
      strangers++;
      return { 'x-forwarded-for': `198.18.${strangers >> 8}.${strangers & 255}` };
    },
    tenant: (id) => openTenant(call, adminSecret, id),
  };
}

/**
 * One request, on a connection of its own unless it brings an agent: what a pool keeps open may be closed by the other side at the moment of
 * its next use. The path goes out as it stands, dot segments included.
 */
export function send(
  controlUrl: string,
  { method, path, authorization, body, headers, agent }: Request,
): Promise<Reply> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const { hostname, port } = new URL(controlUrl);
  const fields = {
    ...(authorization === undefined ? {} : { authorization }),
    ...(text === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const sent = http.request(
      { host: hostname, port, method, path, headers: fields, agent: agent ?? false },
      (response) => {
        // It has no end.
        if (response.headers['content-type'] === 'text/event-stream') {
          const { statusCode: status = 0, rawHeaders } = response;
          resolve({ status, headers: toHeaders(rawHeaders), body: undefined });
          response.destroy();
          return;
        }
        response
          .toArray()
          .then((chunks) => {
            const status = response.statusCode ?? 0;
            const body = parsed(Buffer.concat(chunks).toString());
            const contentType = response.headers['content-type'] ?? null;
            checkDescribed(method, path, { status, contentType, body });
            return { status, headers: toHeaders(response.rawHeaders), body };
          })
          .then(resolve, reject);
      },
    );
    sent.once('error', reject);
    sent.end(text);
  });
}

function toHeaders(rawHeaders: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  }
  return headers;
}

/** JSON where it is JSON, else the text. */
function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

/** Mints its first key. */
export async function openTenant(call: Lab['call'], adminSecret: string, id: string): Promise<Tenant> {
  const agentId = randomUUID();
  const secret = `Bearer ${adminSecret}`;
  const mint = async (fields: Fields = {}): Promise<Minted> => {
    const body = { tenant_id: id, name: 'contract', default_agent_id: agentId, ...fields };
    return expectStatus(201, await call({ method: 'POST', path: '/v1/keys', authorization: secret, body }));
  };
  const { key, key_id: keyId } = await mint();
  const as = (one: string) => `Bearer ${one}`;
  return {
    id,
    agentId,
    key,
    keyId,
    mint,
    api: (method, path, body) => call({ method, path, authorization: as(key), body }),
    admin: (method, path, body) => {
      const asked = `${path}${path.includes('?') ? '&' : '?'}tenant_id=${id}`;
      return call({ method, path: asked, authorization: secret, body });
    },
    ephemeral: async (fields = {}) =>
      expectStatus(
        201,
        await call({ method: 'POST', path: '/v1/keys/ephemeral', authorization: as(key), body: fields }),
      ),
    scan: (fields = {}, one = key) =>
      call({ method: 'POST', path: '/v1/scan', authorization: as(one), body: { ...harmless, ...fields } }),
    apply: (rules, fields = {}) =>
      call({
        method: 'POST',
        path: '/v1/policies/apply',
        authorization: as(key),
        body: { name: 'contract', rules, ...fields },
      }),
  };
}

export const harmless = {
  method: 'POST',
  url: 'https://api.partner.test/v1/items',
  body: { item: 'pencil', count: 3 },
};

function expectStatus(status: number, reply: Reply): Minted {
  if (reply.status === status) return reply.body;
  throw new Error(
    `expected ${status}, the answer is ${reply.status} ${reply.body?.code}: ${reply.body?.detail}`,
  );
}

const attemptsMax = 200;

/** Asks until the answer is as wanted; the last one is answered anyway, so that an assertion can tell what was wrong with it. */
export async function eventually<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask();
    if (isWanted(answer) || attempt === attemptsMax) return answer;
    await pause(25);
  }
}

async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
