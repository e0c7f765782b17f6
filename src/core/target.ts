import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { GatewayError } from './errors.ts';

/**
 * The destination of a call, normalised once. The host is in lower case and punycode without a trailing dot,
 * dot segments are resolved, and IPv4 is dotted. Policy, inspection and dialling use the same values, so that
 * what was judged is what is sent.
 */
export interface Target {
  /**
   * The scheme: `https`, `http`, or any other one in a description that never reaches a wire (`mcp`, `exec`).
   */
  readonly scheme: string;
  /**
   * The host in lower case and punycode, without brackets and final dot. It may be empty for other schemes
   * than http(s).
   */
  readonly host: string;
  readonly port: number;
  /** The path and query as they are sent, beginning with `/`. */
  readonly path: string;
  /** The whole URL, normalised, without a fragment. It has the port only where it is not the scheme's own. */
  readonly href: string;
  /** The fragment without `#`, or ''. It is never sent, but a described call may hide something in it. */
  readonly fragment: string;
  /**
   * `user:password`, or ''. Only a described call may have it. It is read for findings, like the fragment.
   */
  readonly userInfo: string;
  readonly isAddress: boolean;
}

/**
 * The default ports of web schemes. It is a map and no object, because an agent's scheme may be
 * `constructor`.
 */
const defaultPorts: ReadonlyMap<string, number> = new Map([
  ['http', 80],
  ['https', 443],
  ['ws', 80],
  ['wss', 443],
]);
const refusedSchemes = new Set(['file', 'data', 'javascript', 'blob', 'about', 'vbscript', 'filesystem']);
const urlLengthMax = 65_536;

/** Hosts as they may stand in a certificate or a DNS question: labels of letters, digits, `-` and `_`. */
const hostName =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

const refuse = (path: string, message: string): never => {
  throw new GatewayError('VALIDATION_FAILED', message, { errors: [{ path, message }] });
};

/**
 * Returns the normal form of a host as a client writes it (`EXAMPLE.com.`, `[::1]`, `0x7f.1`, `münchen.de`),
 * or undefined where it is no host. Every spelling of one host gives one text.
 */
export function normaliseHost(written: string): string | undefined {
  if (hostName.test(written) && !/(^|\.)(0x[0-9a-f]*|\d+)$/.test(written)) return written;
  if (written.length === 0 || written.length > 512 || /[\s\p{Cc}/\\?#@%]/u.test(written)) return undefined;
  if (written.startsWith('[') || isIP(written) === 6) {
    const inner = written.startsWith('[') && written.endsWith(']') ? written.slice(1, -1) : written;
    if (isIP(inner) !== 6 || inner.includes('%')) return undefined;
    return new URL(`http://[${inner}]`).hostname.slice(1, -1);
  }
  if (written.includes(':')) return undefined;
  const parsed = URL.parse(`http://${written}`)?.hostname ?? '';
  const host = (isIP(parsed) ? parsed : domainToASCII(parsed)).replace(/\.$/, '');
  return hostName.test(host) ? host : undefined;
}

/**
 * Parses the `host:port` of CONNECT or Host (RFC 9110, 7.2) and normalises it. Without a port it takes
 * `defaultPort`. Returns undefined where the text is no authority.
 */
export function parseAuthority(
  text: string,
  defaultPort: number,
): { host: string; port: number } | undefined {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text);
  if (!match) return undefined;
  const host = normaliseHost(match[1] ?? '');
  const port = match[2] === undefined ? defaultPort : Number(match[2]);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/**
 * Returns `host` or `host:port`, as it stands in a URL or a Host field. The scheme's default port and port 0
 * (no port) are left out.
 */
export function toAuthority(scheme: string, host: string, port: number): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === 0 || port === defaultPorts.get(scheme) ? name : `${name}:${port}`;
}

/** Paths that URL parsing would leave as they are. The hot path skips the parsing for them. */
const plainPath =
  /^\/(?!\/)[\w\-~!$&'()*+,;=:@/%]*(?:\.(?!\.|\/|$|\?|%)[\w\-~!$&'()*+,;=:@/%]*)*(?:\?[\w\-.~!$&()*+,;=:@/?%]*)?$/;

/** Returns the target of a request to a known origin. `path` is the request target in origin form. */
export function targetWithin(scheme: 'http' | 'https', host: string, port: number, path: string): Target {
  const origin = `${scheme}://${toAuthority(scheme, host, port)}`;
  if (path.length <= urlLengthMax && plainPath.test(path) && !/\/\.|%2e/i.test(path)) {
    return {
      scheme,
      host,
      port,
      path,
      href: origin + path,
      fragment: '',
      userInfo: '',
      isAddress: isAddress(host),
    };
  }
  if (!path.startsWith('/')) refuse('url', 'The request target must begin with "/".');
  return parseTarget(origin + path);
}

/**
 * Returns the target of `OPTIONS *` (RFC 9112, 3.2.4). For rules its path is `*` and its URL ends in `/*`.
 */
export function wholeServer(scheme: 'http' | 'https', host: string, port: number): Target {
  const target = targetWithin(scheme, host, port, '/*');
  return { ...target, path: '*' };
}

/**
 * Parses an absolute URL. Throws VALIDATION_FAILED where it is relative, carries user information, has no
 * host where one is due, or has a scheme that no call can have.
 */
export function parseTarget(text: string): Target {
  const target = parseDescribed(text);
  if (target.userInfo !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)) {
    refuse('url', 'The URL carries user information; send credentials in a header.');
  }
  return target;
}

/**
 * Parses the URL of a call that is only described. It differs from `parseTarget` in that it takes user
 * information, since nothing is sent.
 */
export function parseDescribed(text: string): Target {
  if (text.length > urlLengthMax) refuse('url', `The URL is longer than ${urlLengthMax} characters.`);
  if (/[\0-\x20\x7f]/.test(text))
    refuse('url', 'The URL contains spaces or control characters; percent-encode them.');
  const url = URL.parse(text);
  if (!url || !/^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    return refuse('url', 'The URL must be absolute: scheme://host/path.');
  const scheme = url.protocol.slice(0, -1);
  if (refusedSchemes.has(scheme))
    refuse('url', `The scheme ${scheme} is not one of a call; use http, https, ws, wss or a tool's own.`);
  const written = url.hostname;
  const isHttp = isWebScheme(scheme);
  if (isHttp && !/^[a-z]+:\/\/[^/\\?#]/i.test(text)) refuse('url', 'The URL has no host.');
  const host = normaliseHost(isHttp ? written : written.toLowerCase());
  if (host === undefined && (isHttp || written !== ''))
    return refuse('url', 'The host of the URL is not a valid name or address.');
  const port = url.port === '' ? (defaultPorts.get(scheme) ?? 0) : Number(url.port);
  if (isHttp && port === 0) refuse('url', 'The URL has port 0, at which nothing listens.');
  // An empty query is one of its own (RFC 3986, 6.2.3), which `search` does not tell from none.
  const query = url.search === '' && /^[^#]*\?/.test(text) ? '?' : url.search;
  const path = (isHttp ? url.pathname : url.pathname || '/') + query;
  const href = `${scheme}://${toAuthority(scheme, host ?? '', port)}${path}`;
  const fragment = url.hash.slice(1);
  const userInfo = url.password === '' ? url.username : `${url.username}:${url.password}`;
  return { scheme, host: host ?? '', port, path, href, fragment, userInfo, isAddress: isAddress(host ?? '') };
}

/** Returns the target that `parse` gives, or undefined where it throws a `GatewayError`. */
export function ifValid(parse: () => Target): Target | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

export const isWebScheme = (scheme: string): boolean => defaultPorts.has(scheme);

/**
 * Tells whether a host is an IP address. Only names that end in a digit or have colons reach the slow check.
 */
function isAddress(host: string): boolean {
  const last = host.charCodeAt(host.length - 1);
  return ((last >= 0x30 && last <= 0x39) || host.includes(':')) && isIP(host) !== 0;
}
