import { hash, timingSafeEqual } from 'node:crypto';
import type { InboundRoute } from '../config/schema.ts';
import type { PresentedKey } from '../core/call.ts';
import { GatewayError } from '../core/errors.ts';
import { whyNobody } from '../decision/auth-failure.ts';
import { identifyOrRecall } from '../decision/degraded.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { isAddressAllowed } from '../state/rules/admission.ts';
import type { Identification, MaybePromise } from '../state/store.ts';
import { isWithin } from '../util/addresses.ts';
import { after } from '../util/maybe-promise.ts';
import { undoEscapes } from '../util/percent.ts';
import { foldedName, isSameFolded } from '../wire/http1/folded-name.ts';
import { withoutFields } from '../wire/http1/headers.ts';
import { type ConnectionOwner, ownerOf } from '../wire/server/connections.ts';

/** The credentials that a request to a route shows. */
interface Shown {
  /** Flat [name, value, …]. */
  readonly headers: readonly string[];
  /** Query with its `?`; '' where there is none. */
  readonly query: string;
  readonly clientAddress: string;
}

/**
 * A caller, and the request without the credential that it has shown: that is for the gateway, and never goes
 * on.
 */
interface Known extends Pick<Shown, 'headers' | 'query'> {
  readonly key: PresentedKey;
  /**
   * Agent and tenant for whom the connection counts. Callers without a key count for the route, all together.
   */
  readonly owner: ConnectionOwner;
  /** The error INVALID_KEY, where the key has the form of one and is not valid. */
  readonly refusal?: GatewayError;
}

const entrance = 'inbound';

/**
 * Finds out who calls a route, as its `auth` says. A caller is known by a key of the route's tenant, a secret
 * of the platform, the address, or nothing. Throws INVALID_KEY where the caller is nobody, and NOT_FOUND for
 * a key of another tenant. Where there is no such route, a key is asked for all the same: only who has one
 * learns that. Failures are counted against the address, and answered RATE_LIMITED where there were too many.
 */
export function authenticateInbound(
  gate: EntranceGate,
  route: InboundRoute | undefined,
  shown: Shown,
  nowMs: number,
): MaybePromise<Known> {
  if (!route || route.auth.type === 'key') return byKey(gate, route, shown, nowMs);
  const { headers, query, clientAddress } = shown;
  const { keys, routeTokens } = gate.throttles;
  const key = gate.routeKey(route);
  const owner = { tenantId: route.tenantId, agentId: key.hash };
  if (route.auth.type === 'token') {
    routeTokens.check(clientAddress, nowMs, entrance);
    const rest = withoutToken(route.auth, shown);
    if (rest) return { ...rest, key, owner };
    routeTokens.failed(clientAddress, nowMs, { entrance, reason: 'token' });
    throw unknownCaller();
  }
  if (route.auth.type === 'ip' && !isWithin(route.auth.allow, clientAddress)) {
    keys.failed(clientAddress, nowMs, { entrance, reason: 'address' });
    throw unknownCaller();
  }
  return { headers, query, key, owner };
}

function byKey(
  gate: EntranceGate,
  route: InboundRoute | undefined,
  shown: Shown,
  nowMs: number,
): MaybePromise<Known> {
  const { keys } = gate.throttles;
  const presented = valuesOf(shown.headers, 'authorization');
  const text = presented.length === 1 ? (/^Bearer +(\S+)$/i.exec(presented[0] ?? '')?.[1] ?? '') : '';
  const key = gate.readKey(text);
  if (!key) {
    const reason = presented.length === 0 ? 'missing' : 'malformed';
    keys.failed(shown.clientAddress, nowMs, { entrance, reason });
    throw unknownCaller();
  }
  const holder = identifyOrRecall(gate, key.hash, nowMs);
  return after(holder, (it) => knownBy(gate, route, { shown, key, text, holder: it, nowMs }));
}

/** A key, the text in which it was presented, and its holder. */
interface Presented {
  readonly shown: Shown;
  readonly key: PresentedKey;
  readonly text: string;
  readonly holder: Identification;
  readonly nowMs: number;
}

function knownBy(
  gate: EntranceGate,
  route: InboundRoute | undefined,
  { shown, key, text, holder, nowMs }: Presented,
): Known {
  const { headers, query, clientAddress } = shown;
  const { keys } = gate.throttles;
  if (!holder.ok) keys.failed(clientAddress, nowMs, { entrance, reason: whyNobody(holder) });
  else if (!isAddressAllowed(holder, clientAddress))
    keys.failed(clientAddress, nowMs, { entrance, reason: 'address', keyId: holder.key.keyId });
  const kept = withoutFields(
    headers,
    (name, value) => isSameFolded(name, 'authorization') || value.includes(text),
  );
  if (!holder.ok) {
    const refusal = new GatewayError('INVALID_KEY', holder.detail);
    return { key, query, headers: kept, owner: { tenantId: '', agentId: '' }, refusal };
  }
  // A caller of another tenant gets the answer for a missing route, and learns nothing of this one.
  if (holder.identity.tenantId !== route?.tenantId) throw noRoute();
  if (query.includes(text)) {
    throw new GatewayError('VALIDATION_FAILED', 'The API key belongs into the Authorization header alone.');
  }
  return { key, query, headers: kept, owner: ownerOf(holder.identity) };
}

/**
 * Returns the request without the one field or parameter that has the secret. Returns undefined where the
 * secret is not there exactly once.
 */
function withoutToken(
  { header, query: parameter, value }: Extract<InboundRoute['auth'], { type: 'token' }>,
  { headers, query }: Shown,
): Pick<Shown, 'headers' | 'query'> | undefined {
  if (header !== null) {
    const name = foldedName(header);
    const [first, second] = valuesOf(headers, name);
    if (second !== undefined || !isSame(first, value)) return undefined;
    return { headers: withoutFields(headers, (it) => isSameFolded(it, name)), query };
  }
  // Each pair keeps what divides it from the one before it: some servers read `;` as `&`.
  const pairs = query.slice(1).split(/(?=[&;])/);
  const textOf = (pair: string): string => pair.replace(/^[&;]/, '');
  const isToken = (pair: string): boolean => readPart(textOf(pair).split('=', 1)[0] ?? '') === parameter;
  const [first, second] = pairs.filter(isToken);
  if (second !== undefined || !isSame(first && readPart(first.slice(first.indexOf('=') + 1)), value))
    return undefined;
  const kept = textOf(pairs.filter((it) => !isToken(it)).join(''));
  return { headers, query: kept === '' ? '' : `?${kept}` };
}

/** Decodes a part of a query as a form does. A part with an invalid encoding stays as it stands. */
function readPart(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  return /^(?:[^%]|%[0-9a-f]{2})*$/i.test(spaced) ? undoEscapes(spaced) : text;
}

/** Tells whether a text is the secret. It compares digests, which have equal lengths, in constant time. */
const isSame = (shown: string | undefined, secret: string): boolean =>
  shown !== undefined && timingSafeEqual(hash('sha256', shown, 'buffer'), hash('sha256', secret, 'buffer'));

const valuesOf = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, i) => i % 2 === 1 && isSameFolded(headers[i - 1] as string, name));

export const noRoute = (): GatewayError => new GatewayError('NOT_FOUND', 'There is no such route.');

const unknownCaller = (): GatewayError =>
  new GatewayError(
    'INVALID_KEY',
    'Send what the route knows its callers by, as a rule a valid API key: "Authorization: Bearer iv_live_…".',
  );
