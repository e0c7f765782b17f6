import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type GatewayError, problems, toProblem } from '../../../src/core/errors.ts';
import { parseTarget } from '../../../src/core/target.ts';
import { openDecoding } from '../../../src/response/decoding.ts';
import type { Outgoing } from '../../../src/wire/client/carrier.ts';
import { createGuard } from '../../../src/wire/client/reach/guard.ts';
import { createResolver, type ResolverOptions } from '../../../src/wire/client/reach/resolve.ts';
import type { Forwarding, RelayOutcome } from '../../../src/wire/client/relay.ts';
import type { Scrub } from '../../../src/wire/client/scrub/scrub.ts';
import { Upstream, type UpstreamOptions } from '../../../src/wire/client/upstream.ts';
import { toUpstreamHeaders } from '../../../src/wire/http1/headers.ts';
import { testAuthority } from '../../support/certificates.ts';

interface Test {
  teardown(close: () => void | Promise<void>): void;
}

export interface FrontOptions extends Partial<UpstreamOptions> {
  readonly extraHeaders?: readonly string[];
  readonly lookup?: ResolverOptions['lookup'];
  readonly onData?: (chunk: Buffer) => void;
  readonly scrub?: Scrub;
}

export interface Front {
  readonly port: number;
  readonly upstream: Upstream;
  readonly errors: readonly GatewayError[];
  readonly outcomes: readonly RelayOutcome[];
  readonly forwardings: readonly Forwarding[];
  readonly responses: readonly http.ServerResponse[];
  /** Emits `end` with each outcome and `failure` with each error. */
  readonly events: EventEmitter;
  /** Asks for an absolute URL through the front, in a connection of its own, and reads the whole answer. */
  ask(url: string, request?: AskOptions): Promise<Answer>;
  /** The same, up to the head of the answer. */
  open(url: string, request?: AskOptions): Promise<http.IncomingMessage>;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly trailers: NodeJS.Dict<string>;
  readonly body: string;
  /** Of the problem, where the front answered itself. */
  readonly code: string | undefined;
  readonly detail: string | undefined;
}

/** An upstream that may dial loopback, with every name leading there. */
export function openUpstream(t: Test, options: FrontOptions = {}): Upstream {
  const allowPrivate = ['127.0.0.0/8', '::1/128'];
  const { lookup = async () => [{ address: '127.0.0.1' }] } = options;
  const upstream = new Upstream({
    guard: createGuard({ allowPrivate, deny: [], allowedPorts: [], ownListeners: () => [] }),
    resolver: createResolver({ resolve: [], lookup }),
    roots: [testAuthority().certPem],
    connectTimeoutMs: 10_000,
    responseTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    ownPrefix: 'x-service-',
    ...options,
  });
  t.teardown(() => upstream.destroy());
  return upstream;
}

/** An entrance as small as can be: whatever it is asked for, it forwards. */
export async function openFront(t: Test, options: FrontOptions = {}): Promise<Front> {
  const upstream = openUpstream(t, options);
  const { extraHeaders = [], onData, scrub } = options;
  const errors: GatewayError[] = [];
  const outcomes: RelayOutcome[] = [];
  const forwardings: Forwarding[] = [];
  const responses: http.ServerResponse[] = [];
  const events = new EventEmitter();

  const server = http.createServer(async (request, response) => {
    responses.push(response);
    const target = parseTarget(request.url ?? '');
    const body = Buffer.concat(await request.toArray());
    const headers = toUpstreamHeaders(request.rawHeaders, `${target.host}:${target.port}`, '1.1 postern');
    const message = {
      tenantId: request.headers['x-tenant']?.toString() ?? 'acme',
      agentId: request.headers['x-agent']?.toString() ?? 'bot',
      target,
      method: request.method ?? '',
      headers,
      body: body.length > 0 ? body : undefined,
    };
    const forwarding = upstream.forward(message, {
      response,
      extraHeaders,
      ...(onData ? { onData } : {}),
      ...(scrub ? { scrub, openDecoding } : {}),
      onError(error) {
        errors.push(error);
        response.writeHead(problems[error.code].status, { 'Content-Type': 'application/problem+json' });
        response.end(JSON.stringify(toProblem(error)));
        events.emit('failure', error);
      },
      onEnd(outcome) {
        outcomes.push(outcome);
        events.emit('end', outcome);
      },
    });
    forwardings.push(forwarding);
    events.emit('forwarded');
  });
  server.listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function open(url: string, { method = 'GET', headers = {}, body }: AskOptions = {}) {
    const request = http.request({ port, host: '127.0.0.1', path: url, method, headers, agent: false });
    request.end(body);
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    return response;
  }

  async function ask(url: string, request?: AskOptions): Promise<Answer> {
    const response = await open(url, request);
    const body = Buffer.concat(await response.toArray()).toString('latin1');
    const isProblem = response.headers['content-type'] === 'application/problem+json';
    const { code, detail } = isProblem ? JSON.parse(body) : {};
    const { statusCode: status = 0, headers, rawHeaders, trailers } = response;
    return { status, headers, rawHeaders, trailers, body, code, detail };
  }

  return { port, upstream, errors, outcomes, forwardings, responses, events, ask, open };
}

/** A request without a body, as it is sent. */
export const outgoing: Outgoing = {
  agentId: 'bot',
  method: 'GET',
  target: parseTarget('http://localhost/'),
  headers: ['Host', 'localhost'],
  head: 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  body: undefined,
  messages: undefined,
  isWebSocket: false,
  isAlone: false,
  isAuthenticating: false,
};
