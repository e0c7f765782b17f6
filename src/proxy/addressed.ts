import type { Claimed, PresentedKey, ReadHead } from '../core/call.ts';
import { GatewayError } from '../core/errors.ts';
import {
  parseAuthority,
  parseTarget,
  type Target,
  targetWithin,
  toAuthority,
  wholeServer,
} from '../core/target.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { whyBlocked } from '../wire/client/reach/guard.ts';
import type { ConnectionOwner, Connections } from '../wire/server/connections.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { peerAddress } from '../wire/server/peer-address.ts';
import { nestedTunnel } from '../wire/server/request-problems.ts';
import { authenticateProxyUser, keyRefused, refusalOfClaim } from './authenticate.ts';
import type { RequestHead } from './request-head.ts';

/** A tunnel whose CONNECT was answered 200, with what all requests inside it share. */
export interface Tunnel {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  readonly key: PresentedKey;
  readonly claimed: Claimed;
  readonly tenantId: string;
  /** Agent and tenant for whom the tunnel counts as a connection, and each stream in it. */
  readonly owner: ConnectionOwner;
  readonly clientAddress: string;
  /** The name in the TLS handshake; '' where the client sent none, as for addresses (RFC 6066, 3). */
  readonly serverName: string;
  readonly lastHead: ReadHead;
  /** Tells whether the tunnel was opened without a key. */
  readonly isKeyless?: boolean;
}

/** The sender of a request, and the target. */
export interface Addressed {
  readonly target: Target;
  readonly key: PresentedKey;
  readonly claimed: Claimed;
  readonly tenantId: string;
  readonly owner: ConnectionOwner;
  readonly clientAddress: string;
  readonly isKeyless?: boolean | undefined;
  /** Reason why the call is not sent on, whatever it carries; undefined where there is none. */
  readonly refusal: GatewayError | undefined;
}

/**
 * Returns who sends a request in a tunnel, and where to. Throws MISDIRECTED_REQUEST where CONNECT, handshake,
 * Host and an absolute target do not name one origin.
 */
export function addressedInside(
  gate: EntranceGate,
  tunnel: Tunnel,
  { method, target: url }: Exchange,
  head: RequestHead,
): Addressed {
  const { scheme, host, port, serverName } = tunnel;
  if (method === 'CONNECT') throw nestedTunnel();
  if (serverName !== '' && serverName !== host) throw misdirected(host);
  const target = targetInside(tunnel, method, url);
  if (target.host !== host || target.port !== port || target.scheme !== scheme) throw misdirected(host);
  agreeWithHost(head, target);
  const { key, claimed, tenantId, owner, clientAddress, isKeyless } = tunnel;
  const refusal = isKeyless ? refusalWithoutKey(gate, key, head) : undefined;
  return { target, key, claimed, tenantId, owner, clientAddress, isKeyless, refusal };
}

function targetInside({ scheme, host, port }: Tunnel, method: string, url: string): Target {
  if (url.startsWith('/')) return targetWithin(scheme, host, port, url);
  if (url === '*' && method === 'OPTIONS') return wholeServer(scheme, host, port);
  return targetOf(method, url);
}

/**
 * Returns the target of an absolute-form. OPTIONS without a path asks about the whole server, and goes out as
 * `OPTIONS *` (RFC 9112, 3.2.4).
 */
function targetOf(method: string, url: string): Target {
  const target = parseTarget(url);
  const { scheme, host, port } = target;
  const isWhole = method === 'OPTIONS' && pathless.test(url) && (scheme === 'http' || scheme === 'https');
  return isWhole ? wholeServer(scheme, host, port) : target;
}

const pathless = /^[^/?#]*:\/\/[^/\\?#]*$/;

/**
 * Returns why a call in a tunnel without a key is refused. The tunnel outlives the configuration that let it
 * be opened; its calls do not.
 */
function refusalWithoutKey(
  { keyless }: EntranceGate,
  key: PresentedKey,
  head: RequestHead,
): GatewayError | undefined {
  if (keyless?.key.hash === key.hash) return refusalOfClaim(head.claimed ?? {});
  return new GatewayError('INVALID_KEY', 'Calls need a key now; open another tunnel with one.');
}

/** Returns who sends a request in absolute-form, and where to: each such request says so itself. */
export async function addressedOutside(
  gate: EntranceGate,
  connections: Connections,
  { method, target: url, socket }: Exchange,
  head: RequestHead,
): Promise<Addressed> {
  const clientAddress = peerAddress(socket);
  const { user, tenant, owner } = await authenticateProxyUser(gate, head.proxyAuthorization, clientAddress);
  if (tenant) connections.claim(socket, owner, gate.tenants.connectionBounds(tenant.id));
  if (url.startsWith('/')) {
    throw new GatewayError('NOT_FOUND', 'This is a forward proxy: send an absolute URL, or use CONNECT.');
  }
  const target = targetOf(method, url);
  if (target.scheme !== 'http' && target.scheme !== 'https') {
    throw new GatewayError('VALIDATION_FAILED', 'The proxy forwards http and https.');
  }
  agreeWithHost(head, target);
  const blocked = tenant ? whyBlocked(gate.guard, target) : keyRefused();
  const { key, claimed, isKeyless } = user;
  const refusal = blocked ?? (isKeyless ? refusalOfClaim(head.claimed ?? {}) : undefined);
  const tenantId = tenant?.id ?? '';
  return { target, key, claimed, tenantId, owner, clientAddress, isKeyless, refusal };
}

/** Throws where Host does not name the target's host (RFC 9112, 3.2), which is an attack or a mistake. */
function agreeWithHost(head: RequestHead, target: Target): void {
  if (head.host === undefined) return;
  if (head.host === toAuthority(target.scheme, target.host, target.port)) return;
  const named = parseAuthority(head.host, target.scheme === 'http' ? 80 : 443);
  if (named?.host === target.host && named.port === target.port) return;
  const authority = toAuthority(target.scheme, target.host, target.port);
  throw new GatewayError(
    'MISDIRECTED_REQUEST',
    `The Host field must say ${authority}, where the request goes.`,
  );
}

const misdirected = (host: string): GatewayError =>
  new GatewayError(
    'MISDIRECTED_REQUEST',
    `This connection leads to ${host}; open another one for another host.`,
  );
