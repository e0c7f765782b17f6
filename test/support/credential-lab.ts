import { readFileSync } from 'node:fs';
import type http from 'node:http';
import type tls from 'node:tls';
import type { Test } from 'tap';
import { testAuthority } from './certificates.ts';
import { basic, openSecureTunnel, type Reply, send } from './clients.ts';
import { startTestGateway, type TestGateway } from './gateway.ts';
import { startUpstream, type TestUpstream, type UpstreamHandler } from './upstream.ts';

export interface CredentialCall {
  readonly host?: string;
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

/** A gateway with credentials before one upstream, which is all hosts of `*.test.example` and those that are named. */
export interface CredentialLab {
  readonly gateway: TestGateway;
  readonly upstream: TestUpstream;
  /** A call by the forward proxy, in a tunnel of its own. */
  call(path: string, options?: CredentialCall): Promise<Reply>;
  tunnel(host?: string): Promise<tls.TLSSocket>;
  /** By the administrator, of the tenant `acme`. */
  admin(method: string, path: string, body?: unknown): ReturnType<TestGateway['api']>;
}

export const apiHost = 'api.test.example';

export interface CredentialSetup {
  readonly credentials: readonly object[];
  readonly handler?: UpstreamHandler;
  /** Further names that lead to the upstream. */
  readonly hosts?: readonly string[];
  /** Further sections of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export async function startCredentialLab(
  t: Test,
  { credentials, handler, hosts = [], config = {} }: CredentialSetup,
): Promise<CredentialLab> {
  const names = ['*.test.example', ...hosts];
  const certificate = testAuthority().issue({ names });
  const upstream = await startUpstream(t, handler, { certificate });
  const resolve = names.map((host) => ({ host, address: '127.0.0.1', port: upstream.port }));
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      ...config,
      upstream: { resolve },
      credentials: credentials.map((it) => ({ tenant: 'acme', ...it })),
    },
  });
  const ca = readFileSync(gateway.caFile, 'utf8');
  const tunnel = async (host = apiHost): Promise<tls.TLSSocket> => {
    const authority = `${host}:${upstream.port}`;
    const { proxyUrl, key } = gateway;
    const socket = await openSecureTunnel({ proxyUrl, authorization: basic(key), authority, ca });
    t.teardown(() => void socket.destroy());
    return socket;
  };
  return {
    gateway,
    upstream,
    tunnel,
    async call(path, { host = apiHost, headers = {}, method, body } = {}) {
      const written = body === undefined ? {} : { body };
      return send(await tunnel(host), {
        path,
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: { host: `${host}:${upstream.port}`, ...headers },
        ...written,
      });
    },
    admin: (method, path, body) =>
      gateway.api(method, `${path}?tenant_id=acme`, body, `Bearer ${gateway.adminSecret}`),
  };
}
