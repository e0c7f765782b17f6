import { isIP } from 'node:net';
import { parseAuthority, toAuthority } from '../../core/target.ts';
import { toCanonical } from '../../core/url-readings.ts';
import { compileGlob, type Glob, globProblem } from '../../util/glob.ts';

/*
 * A URL pattern without `* ? [` is a prefix. Any other one is a glob over the whole normalised URL, in which
 * `*` crosses `/`.
 *
 * Such patterns are fooled elsewhere in three ways. Here they are stopped:
 * - `https://api.x.com` is a prefix of `https://api.x.com.evil.com/`. Here a prefix that ends inside the
 *   authority must end where the host or the port ends.
 * - `https://*.x.com/*` matches `https://evil.com/?.x.com/`, since `*` crosses `/`. In a rule that denies or
 *   holds that is harmless, and wanted where somebody writes `https://*` + `/admin/*`. In a rule that allows,
 *   the stars of the authority stay in the authority.
 * - `/%61dmin`, `//admin` and `/x/..%2fadmin` may all reach `/admin`. Rules see all readings (`readingsOf`).
 */

const urlPatternLengthMax = 2048;

export type UrlMatcher = (url: string) => boolean;

const isGlobText = (text: string): boolean => /[*?[]/.test(text);
const parts = /^([^/?#]*):\/\/([^/]*)(.*)$/s;
/** The default ports by scheme. URLs leave them out. */
export const schemePorts: Readonly<Record<string, number>> = { http: 80, https: 443, ws: 80, wss: 443 };

/**
 * Returns why a text is no URL pattern for a rule of this kind, as a message to its author; undefined where
 * it is one.
 */
export function urlPatternProblem(pattern: string, allows: boolean): string | undefined {
  if (pattern.length > urlPatternLengthMax) return `is longer than ${urlPatternLengthMax} characters`;
  if (/[\s\p{Cc}]/u.test(pattern))
    return 'has a space or a control character; URLs are matched percent-encoded';
  const { scheme, authority, rest, isGlob } = splitUrlPattern(pattern);
  if (!isGlob) {
    if (scheme === undefined)
      return `must begin with a scheme, such as https://${pattern.replace(/^\/+/, '')}`;
    return normalAuthority(scheme, authority) === undefined ? 'has no valid host' : undefined;
  }
  if (/^https?\?:/i.test(pattern))
    return 'has ?, which stands for exactly one character; begin with *:// or write two patterns';
  if (allows && scheme === undefined && !/^\*+$/.test(pattern)) {
    return 'must begin with scheme:// (or *://) in a rule that allows, for * would match the host or any text behind it';
  }
  for (const part of [scheme ?? '', isAddressLiteral(authority) ? '' : authority, rest]) {
    const problem = globProblem(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Compiles a pattern in which `urlPatternProblem` finds nothing wrong. `allows` says that the rule's action
 * is ALLOW. For any other action `https` stands for http and WebSockets as well, because many hosts serve the
 * same by all of them.
 */
export function compileUrlPattern(pattern: string, allows: boolean): UrlMatcher {
  const matches = compileWithScheme(pattern, allows);
  if (allows || !/^https:/i.test(pattern)) return matches;
  return (url) => matches(url.replace(/^(?:http|wss?):/, 'https:'));
}

function compileWithScheme(pattern: string, allows: boolean): UrlMatcher {
  const { scheme, authority, rest, isGlob } = splitUrlPattern(pattern);
  if (scheme === undefined) return compileGlob(pattern);
  const host = normalAuthority(scheme, authority) ?? authority;
  if (!isGlob) return prefixMatcher(scheme, host, toCanonical(rest));
  // A glob that ends with the host means all of that host, as a prefix does.
  const path = rest === '' ? (authority.endsWith('*') ? '*' : '/*') : toCanonical(rest);
  const isLiteral = isAddressLiteral(authority);
  if (!allows && !isLiteral) return compileGlob(`${scheme}://${host}${path}`);
  const authorityGlob: Glob = isLiteral ? (text) => text === host : compileGlob(host);
  return confinedMatcher(compileGlob(scheme), authorityGlob, compileGlob(path));
}

export interface UrlPattern {
  /** The scheme in lower case; undefined where the text has no `://`. */
  readonly scheme: string | undefined;
  readonly authority: string;
  /** The text from the first `/` behind the authority on. */
  readonly rest: string;
  readonly isGlob: boolean;
}

export function splitUrlPattern(pattern: string): UrlPattern {
  const match = parts.exec(pattern);
  const [, scheme, authority = '', rest = ''] = match ?? [];
  const isGlob =
    match === null
      ? isGlobText(pattern)
      : isGlobText((scheme ?? '') + rest) || (isGlobText(authority) && !isAddressLiteral(authority));
  return { scheme: scheme?.toLowerCase(), authority, rest, isGlob };
}

/**
 * Tells whether the brackets of an authority are those of an IPv6 address (RFC 3986, 3.2.2), as in
 * `[::1]:8080`, and not of a set.
 */
function isAddressLiteral(authority: string): boolean {
  const inner = /^\[([0-9a-f:.]+)\](?::\d*)?$/i.exec(authority)?.[1];
  return inner !== undefined && isIP(inner) === 6;
}

/**
 * Returns an authority as normalised URLs have it: lower case, punycode, without the scheme's own port.
 * Returns undefined where it is no host.
 */
function normalAuthority(scheme: string, authority: string): string | undefined {
  const port = schemePorts[scheme];
  if (authority === '') return '';
  if (port === undefined || (isGlobText(authority) && !isAddressLiteral(authority))) {
    const lower = authority.toLowerCase();
    return port !== undefined && lower.endsWith(`:${port}`) ? lower.slice(0, -`:${port}`.length) : lower;
  }
  const parsed = parseAuthority(authority, port);
  return parsed && toAuthority(scheme, parsed.host, parsed.port);
}

function prefixMatcher(scheme: string, host: string, rest: string): UrlMatcher {
  const prefix = `${scheme}://${host}${rest}`;
  if (rest !== '' || host === '') return (url) => url.startsWith(prefix);
  return (url) =>
    url.startsWith(prefix) && (url.length === prefix.length || '/:?'.includes(url.charAt(prefix.length)));
}

function confinedMatcher(scheme: Glob, authority: Glob, path: Glob): UrlMatcher {
  return (url) => {
    const hostStart = url.indexOf('://') + 3;
    const pathStart = url.indexOf('/', hostStart);
    if (hostStart < 3) return false;
    const hostEnd = pathStart < 0 ? url.length : pathStart;
    return (
      authority(url.slice(hostStart, hostEnd)) &&
      scheme(url.slice(0, hostStart - 3)) &&
      path(url.slice(hostEnd))
    );
  };
}
