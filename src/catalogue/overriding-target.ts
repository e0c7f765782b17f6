import { GatewayError } from '../core/errors.ts';
import { isWebScheme, parseAuthority, parseTarget, type Target, toAuthority } from '../core/target.ts';
import { otherReadingsOf } from '../core/url-readings.ts';
import { undoEscapes } from '../util/percent.ts';
import { foldedName } from '../wire/http1/folded-name.ts';

/*
 * Fields by which servers take another URL than that of the request line. Proxies write them for the servers
 * behind them, and many servers believe whoever sends them.
 */

const takes = {
  /** Fields for path and query, of IIS, Azure, Symfony, Laminas; Traefik, Caddy, nginx, Envoy. */
  path: [
    ...['x-original-url', 'x-original-uri', 'x-original-path', 'x-rewrite-url', 'x-rewrite-uri'],
    ...['x-override-url', 'x-forwarded-uri', 'x-forwarded-url', 'x-forwarded-path', 'x-replaced-path'],
    ...['x-envoy-original-path', 'x-waws-unencoded-url'],
  ],
  /** Fields for the beginning of the path, of Spring, ASP.NET, Werkzeug, NiFi. */
  prefix: [
    ...['x-forwarded-prefix', 'x-forwarded-pathbase', 'x-forwarded-context', 'x-forwarded-script-name'],
    ...['x-script-name', 'x-proxycontextpath'],
  ],
  /** Fields for the host, of Rails, Django, Express, Symfony, Spring. */
  host: ['x-forwarded-host', 'x-original-host', 'x-http-host-override', 'x-host', 'forwarded'],
} as const;

type Part = keyof typeof takes;

const parts = ['path', 'prefix', 'host'] as const;
const partOf: ReadonlyMap<string, Part> = new Map(
  parts.flatMap((part) => takes[part].map((name) => [name, part] as const)),
);
/** The lengths of the names, as bits of a number. */
const lengths = [...partOf.keys()].reduce((bits, { length }) => bits | (1 << length), 0);
/** Bound on the URLs beside the call's own, since each is judged. */
const urlsMax = 32;
const none: readonly Target[] = Object.freeze([]);

/** Tells whether servers may take another URL, or a part of one, from the field of this name. */
export const overridesTarget = (name: string): boolean => partTaken(name) !== undefined;

/**
 * Returns the part of a URL that servers may take from a field. It runs over all fields of every call: first
 * letter and length tell nearly all names apart.
 */
function partTaken(name: string): Part | undefined {
  const first = name.charCodeAt(0) | 0x20;
  if ((first !== 0x78 && first !== 0x66) || name.length > 31) return undefined;
  return (lengths & (1 << name.length)) === 0 ? undefined : partOf.get(foldedName(name));
}

/** Returns a flat head without the fields that override the URL. */
export const withoutOverridingTargets = (headers: readonly string[]): readonly string[] =>
  headers.filter((_, i) => !overridesTarget(headers[i & ~1] as string));

export function hasOverridingTarget(headers: readonly string[]): boolean {
  for (let i = 0; i < headers.length; i += 2) if (overridesTarget(headers[i] as string)) return true;
  return false;
}

interface Head {
  readonly target: Target;
  /** A flat list: name, value, name, value, … */
  readonly headers: readonly string[];
}

/**
 * Returns the URLs that servers may take instead of the call's own. It is not known which of them a server
 * takes, so all are judged and the strictest counts. Throws VALIDATION_FAILED where there are more than 32,
 * and where a value is not plain. The fields are sent as they came, so servers must not be able to read them
 * in another way than is judged here.
 */
export function overridingTargets({ target, headers }: Head): readonly Target[] {
  if (!hasOverridingTarget(headers) || !isWebScheme(target.scheme)) return none;
  const named = namedIn({ target, headers });
  const urls = new Set<string>();
  const own = toAuthority(target.scheme, target.host, target.port);
  for (const authority of [own, ...named.host])
    for (const path of [target.path, ...named.path, ...withQuery(named.path, target.path)])
      for (const it of [path, ...[...named.prefix].flatMap((prefix) => belowAndAbove(prefix, path))])
        keep(urls, `${target.scheme}://${authority}${it}`);
  return [...urls].map(parseTarget).filter(({ href }) => href !== target.href);
}

/** Returns the paths without a query with the query of the request line: some servers keep it. */
const withQuery = (paths: Iterable<string>, own: string): string[] =>
  own.includes('?')
    ? [...paths].filter((it) => !it.includes('?')).map((it) => it + own.slice(own.indexOf('?')))
    : [];

/**
 * Returns the path with the prefix before it, and without the prefix: some servers put it on, others take it
 * off.
 */
function belowAndAbove(prefix: string, path: string): string[] {
  const rests = [path, ...otherReadingsOf(path)].flatMap((it) => [
    behind(prefix, it),
    behind(undoEscapes(prefix), it),
    it.startsWith(prefix) ? it.slice(prefix.length) : undefined,
  ]);
  return [prefix + path, ...rests.filter((it) => it !== undefined).map(rooted)];
}

/** Returns the rest of a path, as written, behind `prefix` once the escapes are undone. */
function behind(prefix: string, path: string): string | undefined {
  let at = 0;
  for (const char of prefix) {
    const length = path[at] === '%' ? 3 : 1;
    if (undoEscapes(path.slice(at, at + length)) !== char) return undefined;
    at += length;
  }
  return path.slice(at);
}

function namedIn({ target, headers }: Head): Readonly<Record<Part, ReadonlySet<string>>> {
  const named = { path: new Set<string>(), prefix: new Set<string>(), host: new Set<string>() };
  const seen = new Set<string>();
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const part = partTaken(headers[i] as string);
    if (part === undefined) continue;
    const name = foldedName(headers[i] as string);
    const value = headers[i + 1] as string;
    if (notInValues.test(value)) throw notPlain(name);
    // Some servers join the values of two fields, others take one of them.
    if (part !== 'host' && seen.has(name))
      throw new GatewayError('VALIDATION_FAILED', `The field ${name} may stand in a call once.`);
    seen.add(name);
    for (const text of textsOf(part, name, value.trim(), target)) if (text !== '') keep(named[part], text);
  }
  return named;
}

/** Matches characters that servers read in different ways, or not at all. */
const notInValues = /[^\t\x20-\x7e]|[\\#]/;

function textsOf(part: Part, name: string, value: string, target: Target): readonly string[] {
  // Proxies add to what is there: some servers take one item, others all of the value.
  const items = value.split(',').map((it) => it.trim());
  if (part === 'host')
    return (name === 'forwarded' ? hostsOfForwarded(value, items) : items)
      .filter((it) => it !== '')
      .map((it) => authorityOf(it, name, target));
  if (part === 'prefix' && notInPrefixes.test(withoutOrigin(value))) throw notPlain(name);
  if (schemeStart.test(withoutOrigin(value)) || !items.every(isPlain)) throw notPlain(name);
  return part === 'path' ? [value, ...items].map(pathOf) : [pathOf(value).replace(/\/$/, '')];
}

const notInPrefixes = /[,?]|\/\//;
/** Matches a scheme other than HTTP's, which some servers take off. */
const schemeStart = /^[^/?]*:/;
const otherOrigin = /^(?:\/\/|[^/?]*:\/)/;
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:;[^/]*)?(?:\/|$)/i;

/** Tells whether a path or URL is the same text for servers that resolve it and those that do not. */
function isPlain(text: string): boolean {
  const path = withoutOrigin(text);
  return !/[\t ]/.test(text) && !otherOrigin.test(path) && !dotSegment.test(path.split('?', 1)[0] ?? '');
}

/** Removes scheme and host, which some proxies write before the path. */
const withoutOrigin = (text: string): string => text.replace(/^https?:\/\/[\w.:[\]-]+(?=\/|$)/i, '');

const pathOf = (text: string): string =>
  text === '' ? '' : rooted(withoutOrigin(text).replace(/[\t ]/g, '%20'));

const rooted = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

/** Finds hosts among the items of `Forwarded` (RFC 7239, 4). Quotes end nothing, as for some servers. */
const hostsOfForwarded = (value: string, items: readonly string[]): readonly string[] =>
  value.includes('=')
    ? [...value.replaceAll('"', '').matchAll(/(?<![^\s;,])host\s*=([^;,]*)/gi)].map(([, host = '']) =>
        host.trim(),
      )
    : items;

function authorityOf(text: string, field: string, { scheme, host, port }: Target): string {
  const isSecure = scheme === 'https' || scheme === 'wss';
  const named = parseAuthority(text, isSecure ? 443 : 80);
  if (!named) throw new GatewayError('VALIDATION_FAILED', `The field ${field} names a host that is none.`);
  const isOwn = named.host === host && !text.includes(':');
  return toAuthority(scheme, named.host, isOwn ? port : named.port);
}

const notPlain = (field: string): GatewayError =>
  new GatewayError(
    'VALIDATION_FAILED',
    `The field ${field} must be plain: no dot segments, "//" at the start, "\\", "#", user information or characters beyond ASCII; in a prefix no ",", "?" or "//".`,
  );

function keep(texts: Set<string>, text: string): void {
  texts.add(text);
  if (texts.size > urlsMax + 1)
    throw new GatewayError('VALIDATION_FAILED', `A call may name ${urlsMax} URLs beside its own.`);
}
