import { hash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { PresentedKey } from '../call.ts';
import type { InboundRoute } from '../config/schema.ts';
import { GatewayError } from '../errors.ts';
import { identifyOrRecall } from '../pipeline/degraded.ts';
import type { Gate } from '../pipeline/gate.ts';

/** What a request to a route shows, beside where it wants to go. */
export interface Shown {
  /** Flat. */
  readonly headers: readonly string[];
  /** With its `?`; '' where there is none. */
  readonly query: string;
  readonly clientAddress: string;
}

/** Who calls, and the request without what said so: that is for the gateway, and never goes on. */
export interface Admitted extends Pick<Shown, 'headers' | 'query'> {
  readonly key: PresentedKey;
}

/**
 * Knows the caller of a route as its `auth` says: by a key of the route's tenant, by a secret of the platform, by the address, or not at
 * all. Throws INVALID_KEY, and NOT_FOUND for a key of another tenant; failures are counted against the address.
 */
export async function authenticateInbound(
  gate: Gate,
  route: InboundRoute,
  shown: Shown,
  nowMs: number,
): Promise<Admitted> {
  const { clientAddress } = shown;
  gate.throttle.check(clientAddress, nowMs);
  try {
    return await byAuth(gate, route, shown, nowMs);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'INVALID_KEY')
      gate.throttle.failed(clientAddress, nowMs);
    throw error;
  }
}

async function byAuth(gate: Gate, route: InboundRoute, shown: Shown, nowMs: number): Promise<Admitted> {
  const { headers, query, clientAddress } = shown;
  switch (route.auth.type) {
    case 'key':
      return await byKey(gate, route, shown, nowMs);
    case 'token':
      return { ...withoutToken(route.auth, shown), key: gate.routeKey(route) };
    case 'ip':
      if (!isWithin(route.auth.allow, clientAddress)) throw unknownCaller();
      return { headers, query, key: gate.routeKey(route) };
    case 'none':
      return { headers, query, key: gate.routeKey(route) };
  }
}

async function byKey(
  gate: Gate,
  route: InboundRoute,
  { headers, query }: Shown,
  nowMs: number,
): Promise<Admitted> {
  const presented = valuesOf(headers, 'authorization');
  const text = presented.length === 1 ? (/^Bearer +(\S+)$/i.exec(presented[0] ?? '')?.[1] ?? '') : '';
  const key = gate.readKey(text);
  if (!key) throw new GatewayError('INVALID_KEY', 'Send a valid API key: "Authorization: Bearer iv_live_…".');
  const holder = await identifyOrRecall(gate, key.hash, nowMs);
  if (!holder.ok) throw new GatewayError('INVALID_KEY', holder.detail);
  // As if there was no such route: who belongs to another tenant learns nothing of it.
  if (holder.identity.tenantId !== route.tenantId) throw noRoute();
  if (query.includes(text)) {
    throw new GatewayError('VALIDATION_FAILED', 'The API key belongs into the Authorization header alone.');
  }
  return {
    key,
    query,
    headers: withoutFields(headers, (name, value) => name === 'authorization' || value.includes(text)),
  };
}

type TokenAuth = Extract<InboundRoute['auth'], { type: 'token' }>;

/** Exactly one field, or parameter, with the secret; it is taken out. */
function withoutToken({ header, query: parameter, value }: TokenAuth, { headers, query }: Shown) {
  if (header !== null) {
    const name = header.toLowerCase();
    const [first, second] = valuesOf(headers, name);
    if (second !== undefined || !isSame(first, value)) throw unknownCaller();
    return { headers: withoutFields(headers, (it) => it === name), query };
  }
  const isToken = (pair: string): boolean => readPart(pair.split('=', 1)[0] ?? '') === parameter;
  const pairs = query.slice(1).split('&');
  const [first, second] = pairs.filter(isToken);
  if (second !== undefined || !isSame(first && readPart(first.slice(first.indexOf('=') + 1)), value))
    throw unknownCaller();
  const kept = pairs.filter((it) => !isToken(it)).join('&');
  return { headers, query: kept === '' ? '' : `?${kept}` };
}

/** As a form writes it; what is no valid encoding is taken as it stands. */
function readPart(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  return /^(?:[^%]|%[0-9a-f]{2})*$/i.test(spaced) ? latin1Of(spaced) : text;
}

const latin1Of = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Compared as digests: equal lengths, constant time. */
const isSame = (shown: string | undefined, secret: string): boolean =>
  shown !== undefined && timingSafeEqual(hash('sha256', shown, 'buffer'), hash('sha256', secret, 'buffer'));

const lists = new WeakMap<readonly string[], BlockList>();

function isWithin(ranges: readonly string[], address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  let list = lists.get(ranges);
  if (!list) {
    list = new BlockList();
    for (const range of ranges) {
      const [start = '', bits] = range.split('/');
      const type = isIP(start) === 6 ? 'ipv6' : 'ipv4';
      list.addSubnet(start, bits === undefined ? (type === 'ipv6' ? 128 : 32) : Number(bits), type);
    }
    lists.set(ranges, list);
  }
  return list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

const valuesOf = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, i) => i % 2 === 1 && (headers[i - 1] as string).toLowerCase() === name);

const withoutFields = (
  headers: readonly string[],
  isOut: (name: string, value: string) => boolean,
): readonly string[] =>
  headers.filter((_, i) => !isOut((headers[i & ~1] as string).toLowerCase(), headers[i | 1] as string));

export const noRoute = (): GatewayError => new GatewayError('NOT_FOUND', 'There is no such route.');

const unknownCaller = (): GatewayError =>
  new GatewayError('INVALID_KEY', 'The request does not show what this route knows its callers by.');
