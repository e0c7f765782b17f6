import http from 'node:http';
import type { TLSSocket } from 'node:tls';
import { basic, openSecureTunnel, send } from '../../support/clients.ts';
import type { Test } from '../suite/lab.ts';
import { type Fleet, type Member, plainHost, secureHost } from './fleet.ts';

/*
 * Agents that call without end. Whatever the entrance, a call is told by its number, which stands in its URL, and its answer is told in
 * the same words.
 */

export const entrances = ['scan', 'forward', 'tunnel'] as const;
/** `POST /v1/scan`, an absolute-form request to the proxy, a request inside an open CONNECT; all on kept connections. */
export type Entrance = (typeof entrances)[number];

export interface Answer {
  readonly entrance: Entrance;
  readonly status: number;
  /** The scan's decision, or that in the headers of the proxy. */
  readonly decision: string | undefined;
  /** What the problem says, where the answer is one. */
  readonly code: string | undefined;
  readonly reasons: readonly string[];
  readonly traceId: string;
  readonly retryAfter: string | undefined;
  /** The call went out, or may go out. */
  readonly isAllowed: boolean;
}

export interface Asked {
  /** Begins with a slash. */
  readonly path?: string;
  /** Sent as JSON with POST. */
  readonly body?: object;
  /** Instead of the caller's own. */
  readonly key?: string;
}

export interface Caller {
  readonly entrance: Entrance;
  readonly member: Member;
  call(asked?: Asked): Promise<Answer>;
  /** Closes its connections, whatever they wait for. */
  leave(): void;
}

export interface CallerOptions {
  readonly fleet: Fleet;
  readonly member: Member;
  readonly key: string;
  /** Of all calls of the caller. A tunnel carries one call at a time. */
  readonly socketsMax?: number;
}

/** Opens a caller; its connections end with the test. */
export async function openCaller(t: Test, entrance: Entrance, options: CallerOptions): Promise<Caller> {
  const { member, socketsMax = 1 } = options;
  if (entrance === 'tunnel') return openTunnelCaller(t, options);
  const agent = new http.Agent({ keepAlive: true, maxSockets: socketsMax, maxFreeSockets: socketsMax });
  t.teardown(() => agent.destroy());
  return entrance === 'scan' ? scanCaller(member, agent, options) : forwardCaller(member, agent, options);
}

/** One of each daemon and entrance; `call` takes them by turns. */
export async function openCallers(
  t: Test,
  fleet: Fleet,
  key: string,
  { through = ['scan', 'forward'] as readonly Entrance[], socketsMax = 1 } = {},
): Promise<{ readonly all: readonly Caller[]; call(asked?: Asked): Promise<Answer> }> {
  const all: Caller[] = [];
  for (const entrance of through)
    for (const member of fleet.members)
      all.push(await openCaller(t, entrance, { fleet, member, key, socketsMax }));
  let turn = 0;
  return {
    all,
    call(asked) {
      turn += 1;
      return (all[turn % all.length] as Caller).call(asked);
    },
  };
}

const json = { 'content-type': 'application/json' };

function toSent({ body }: Asked): { method: string; headers: http.OutgoingHttpHeaders; body?: string } {
  if (!body) return { method: 'GET', headers: {} };
  const text = JSON.stringify(body);
  return { method: 'POST', headers: { ...json, 'content-length': Buffer.byteLength(text) }, body: text };
}

const pathOf = ({ path = '/v1/items' }: Asked): string => path;

function scanCaller(member: Member, agent: http.Agent, { fleet, key: own }: CallerOptions): Caller {
  const origin = `http://${plainHost}:${fleet.upstreams.plain.port}`;
  return {
    entrance: 'scan',
    member,
    leave: () => agent.destroy(),
    async call(asked = {}) {
      const { hostname, port } = new URL(member.controlUrl);
      const { body: sent } = asked;
      const described = sent ? { method: 'POST', headers: json, body: sent } : { method: 'GET' };
      const body = JSON.stringify({ ...described, url: `${origin}${pathOf(asked)}` });
      const headers = {
        authorization: `Bearer ${asked.key ?? own}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      };
      const got = await ask({ agent, host: hostname, port, method: 'POST', path: '/v1/scan', headers }, body);
      const told = JSON.parse(got.body.toString());
      return {
        ...toAnswer('scan', got),
        decision: told.decision,
        code: told.code,
        reasons: told.reason_codes ?? [],
        traceId: told.trace_id ?? '',
        isAllowed: got.status === 200 && told.decision === 'ALLOW',
      };
    },
  };
}

function forwardCaller(member: Member, agent: http.Agent, { fleet, key }: CallerOptions): Caller {
  const host = `${plainHost}:${fleet.upstreams.plain.port}`;
  return {
    entrance: 'forward',
    member,
    leave: () => agent.destroy(),
    async call(asked = {}) {
      const { hostname, port } = new URL(member.proxyUrl);
      const own = { host, 'proxy-authorization': basic(asked.key ?? key) };
      const path = `http://${host}${pathOf(asked)}`;
      const { method, headers, body } = toSent(asked);
      const request = { agent, host: hostname, port, method, path, headers: { ...own, ...headers } };
      return toAnswer('forward', await ask(request, body));
    },
  };
}

async function openTunnelCaller(t: Test, { fleet, member, key }: CallerOptions): Promise<Caller> {
  const host = `${secureHost}:${fleet.upstreams.secure.port}`;
  const { proxyUrl, caPem: ca } = member;
  const target = { proxyUrl, authorization: basic(key), authority: host, ca };
  const socket: TLSSocket = await openSecureTunnel(target);
  t.teardown(() => void socket.destroy());
  return {
    entrance: 'tunnel',
    member,
    leave: () => void socket.destroy(),
    async call(asked = {}) {
      const { headers, ...sent } = toSent(asked);
      return toAnswer(
        'tunnel',
        await send(socket, { ...sent, path: pathOf(asked), headers: { host, ...headers } }),
      );
    },
  };
}

interface Got {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

function ask(options: http.RequestOptions, body?: string): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = http.request(options, (response) => {
      const { statusCode: status = 0, headers } = response;
      response.toArray().then((chunks) => resolve({ status, headers, body: Buffer.concat(chunks) }), reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}

/** Of a proxied call: the upstream's answer has no code. */
function toAnswer(entrance: Entrance, { status, headers, body }: Got): Answer {
  const isProblem = headers['content-type'] === 'application/problem+json';
  const text = (name: string): string | undefined => headers[name] as string | undefined;
  return {
    entrance,
    status,
    decision: text('x-service-decision'),
    code: isProblem ? JSON.parse(body.toString()).code : undefined,
    reasons: text('x-service-reasons')?.split(',') ?? [],
    traceId: text('x-service-trace-id') ?? '',
    retryAfter: text('retry-after'),
    isAllowed: status === 200 && !isProblem,
  };
}
