import { isIP } from 'node:net';
import type { InboundRoute } from '../config/schema.ts';
import { GatewayError } from '../core/errors.ts';
import { parseAuthority } from '../core/target.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { isDisguised } from '../util/addresses.ts';
import { type HostMatcher, toHostMatcher } from '../wire/client/reach/host-glob.ts';
import { fieldOf } from '../wire/http1/field.ts';

/*
 * Finds requests that a web page has a browser send to a route without a secret. Upstreams here or nearby
 * check Host against names bound to another address (DNS rebinding). But the route replaces Host, so the
 * check is made here.
 */

/** Returns why a request is not one of the route's callers; undefined where it is. `fields` is flat. */
export function whyForeign(
  { isOwnName }: Pick<EntranceGate, 'isOwnName'>,
  { auth, allowedSites }: Pick<InboundRoute, 'auth' | 'allowedSites'>,
  fields: readonly string[],
): GatewayError | undefined {
  // A page cannot know the key or the token.
  if (auth.type === 'key' || auth.type === 'token' || allowedSites.includes('*')) return undefined;
  const isAllowed = (host: string): boolean => matchersOf(allowedSites).some((matches) => matches(host));
  const isKnown = (host: string): boolean => isOwnName(host) || isAllowed(host);
  const host = parseAuthority(fieldOf(fields, 'host'), 80)?.host;
  if (host === undefined || !(isAddress(host) || isKnown(host)))
    return foreign('Host names another host than this gateway; see control.names');
  const origin = fieldOf(fields, 'origin');
  const site = siteOf(origin);
  if (origin !== '' && (site === undefined || !(site === host || isKnown(site))))
    return foreign('Origin names another site');
  const referer = fieldOf(fields, 'referer');
  const from = siteOf(beginning.exec(referer)?.[0] ?? '');
  if (referer !== '' && (from === undefined || !(from === host || isKnown(from))))
    return foreign('Referer names another site');
  const relation = fieldOf(fields, 'sec-fetch-site').toLowerCase();
  const page = site ?? from;
  // A page on another port, or on a sibling domain, has to say which page it is.
  const isStrange = relation === 'cross-site' || (relation === 'same-site' && site === undefined);
  if (isStrange && !(page !== undefined && isAllowed(page)))
    return foreign('Sec-Fetch-Site names a page of another site');
  return undefined;
}

/** Matches scheme and authority of a URL. */
const beginning = /^https?:\/\/[^/?#]+/i;

const foreign = (why: string): GatewayError =>
  new GatewayError('FORBIDDEN', `${why} and allowed_sites of the route.`);

/**
 * Tells whether a host is an address that is not disguised. No name leads to an address, but a page reaches
 * the loopback by a disguised one without a sign.
 */
const isAddress = (host: string): boolean => isIP(host) !== 0 && !isDisguised(host);

/** Returns the host of an Origin (RFC 6454, 7); undefined for `null`, and for whatever is no Origin. */
function siteOf(origin: string): string | undefined {
  const [, authority = ''] = /^https?:\/\/([^/?#@]+)$/i.exec(origin) ?? [];
  return authority === '' ? undefined : parseAuthority(authority, 80)?.host;
}

const compiled = new WeakMap<readonly string[], readonly HostMatcher[]>();

function matchersOf(globs: readonly string[]): readonly HostMatcher[] {
  const known = compiled.get(globs) ?? globs.map(toHostMatcher);
  compiled.set(globs, known);
  return known;
}
