import { readFileSync } from 'node:fs';
import type http from 'node:http';
import type { Test } from 'tap';
import { basic, openSecureTunnel, type Reply, send } from './clients.ts';
import { startTestGateway, type TestGateway } from './gateway.ts';
import { startUpstream, type UpstreamHandler } from './upstream.ts';

/** An upstream, and a gateway that lets calls through to it. */
export interface Lab {
  readonly gateway: TestGateway;
  /** GET through an intercepted tunnel. */
  get(path: string, headers?: http.OutgoingHttpHeaders): Promise<Reply>;
  tunnel(): ReturnType<typeof openSecureTunnel>;
  readonly authority: string;
}

export async function startLab(
  t: Test,
  config: Record<string, unknown>,
  handler: UpstreamHandler,
): Promise<Lab> {
  const upstream = await startUpstream(t, handler);
  const limits = { scan_timeout: '30s' };
  const gateway = await startTestGateway(t, { upstream, config: { limits, ...config } });
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const tunnel = (): ReturnType<typeof openSecureTunnel> =>
    openSecureTunnel({ proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca });
  const get: Lab['get'] = async (path, headers = {}) => {
    const socket = await tunnel();
    const reply = await send(socket, { path, headers: { host: authority, ...headers } });
    socket.destroy();
    return reply;
  };
  return { gateway, get, tunnel, authority };
}

export const traceIdOf = ({ headers }: Pick<Reply, 'headers'>): string =>
  String(headers['x-service-trace-id']);

/** Asks until the trace of the call has a scan of its answer. */
export async function scanOf(gateway: TestGateway, reply: Pick<Reply, 'headers'>, authorization?: string) {
  for (;;) {
    const path = `/v1/traces/${traceIdOf(reply)}`;
    const { body } = await gateway.api('GET', path, undefined, authorization);
    if (body.response_scans?.length > 0) return body.response_scans[0];
  }
}

export const answering =
  (
    bodies: Readonly<Record<string, string | Buffer>>,
    headers: http.OutgoingHttpHeaders = {},
  ): UpstreamHandler =>
  (request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', ...headers });
    response.end(bodies[request.url ?? '']);
  };
