import { GatewayError } from '../errors.ts';
import { foldedName } from '../http1/folded-name.ts';
import { isWebScheme, parseAuthority, parseTarget, type Target, toAuthority } from '../target.ts';

/*
 * Fields by which servers take another URL than that of the request line. Proxies write them for the servers behind them, and many servers
 * believe whoever sends them.
 */

const takes = {
  /** IIS, Azure, Symfony, Laminas; Traefik, Caddy, nginx, Envoy. */
  path: [
    ...['x-original-url', 'x-original-uri', 'x-original-path', 'x-rewrite-url', 'x-rewrite-uri'],
    ...['x-override-url', 'x-forwarded-uri', 'x-forwarded-url', 'x-forwarded-path', 'x-replaced-path'],
    ...['x-envoy-original-path', 'x-waws-unencoded-url'],
  ],
  /** Spring, ASP.NET, Werkzeug, NiFi. */
  prefix: [
    ...['x-forwarded-prefix', 'x-forwarded-pathbase', 'x-forwarded-context', 'x-forwarded-script-name'],
    ...['x-script-name', 'x-proxycontextpath'],
  ],
  /** Rails, Django, Express, Symfony, Spring. */
  host: ['x-forwarded-host', 'x-original-host', 'x-http-host-override', 'x-host', 'forwarded'],
} as const;

type Part = keyof typeof takes;

const parts = ['path', 'prefix', 'host'] as const;
const partOf: ReadonlyMap<string, Part> = new Map(
  parts.flatMap((part) => takes[part].map((name) => [name, part] as const)),
);
/** The lengths of the names, as bits. */
const lengths = [...partOf.keys()].reduce((bits, { length }) => bits | (1 << length), 0);
/** Beside the call's own; each is judged. */
const urlsMax = 32;
const none: readonly Target[] = Object.freeze([]);

/** Whether servers may take another URL, or a part of one, from the field of this name. */
export const overridesTarget = (name: string): boolean => partTaken(name) !== undefined;

/** A look at the first letter and the length spares nearly all names the rest: this runs over all fields of every call. */
function partTaken(name: string): Part | undefined {
  const first = name.charCodeAt(0) | 0x20;
  if ((first !== 0x78 && first !== 0x66) || name.length > 31) return undefined;
  return (lengths & (1 << name.length)) === 0 ? undefined : partOf.get(foldedName(name));
}

/** A flat head without such fields. */
export const withoutOverridingTargets = (headers: readonly string[]): readonly string[] =>
  headers.filter((_, i) => !overridesTarget(headers[i & ~1] as string));

export function hasOverridingTarget(headers: readonly string[]): boolean {
  for (let i = 0; i < headers.length; i += 2) if (overridesTarget(headers[i] as string)) return true;
  return false;
}

interface Head {
  readonly target: Target;
  /** Flat [name, value, …]. */
  readonly headers: readonly string[];
}

/**
 * The URLs that servers may take instead of the call's own. Which of them a server takes is not known, hence all are judged and the
 * strictest counts. Throws VALIDATION_FAILED where there are more than 32, and where one cannot be read.
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

/** There are servers that keep the query of the request line. */
const withQuery = (paths: Iterable<string>, own: string): string[] =>
  own.includes('?')
    ? [...paths].filter((it) => !it.includes('?')).map((it) => it + own.slice(own.indexOf('?')))
    : [];

/** Some servers put the prefix before the path, others take it off. */
function belowAndAbove(prefix: string, path: string): string[] {
  const rest = path.startsWith(prefix) ? [rooted(path.slice(prefix.length))] : [];
  return [prefix + path, ...rest];
}

function namedIn({ target, headers }: Head): Readonly<Record<Part, ReadonlySet<string>>> {
  const named = { path: new Set<string>(), prefix: new Set<string>(), host: new Set<string>() };
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const part = partTaken(headers[i] as string);
    if (part === undefined) continue;
    const value = headers[i + 1] as string;
    // Proxies add to what is there: some servers take one item, others all of the value.
    const items = value.split(',').map((it) => it.trim());
    const texts = {
      path: () => [value.trim(), ...items].map(pathOf),
      prefix: () => withAllTogether(items.map((it) => pathOf(it).replace(/\/+$/, ''))),
      host: () => namesOfHosts(value, items).map((it) => authorityOf(it, target)),
    }[part]();
    for (const text of texts) if (text !== '') keep(named[part], text);
  }
  return named;
}

/** Spring takes several prefixes for one within another. */
const withAllTogether = (prefixes: readonly string[]): string[] => [...prefixes, prefixes.join('')];

/** Without scheme and host, which some proxies write. */
function pathOf(text: string): string {
  const path = text.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[\t ]/g, '%20');
  return text === '' ? '' : rooted(path);
}

const rooted = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

/** Those of `Forwarded` are among other things (RFC 7239, 4). */
const namesOfHosts = (value: string, items: readonly string[]): readonly string[] =>
  value.includes('=')
    ? [...value.matchAll(/(?<![^\s;,])host\s*=\s*"?([^\s";,]+)/gi)].map(([, host = '']) => host)
    : items.filter((it) => it !== '');

function authorityOf(text: string, { scheme, host, port }: Target): string {
  const isSecure = scheme === 'https' || scheme === 'wss';
  const named = parseAuthority(text, isSecure ? 443 : 80);
  if (!named) throw new GatewayError('VALIDATION_FAILED', 'A field of the call names a host that is none.');
  const isOwn = named.host === host && !text.includes(':');
  return toAuthority(scheme, named.host, isOwn ? port : named.port);
}

function keep(texts: Set<string>, text: string): void {
  texts.add(text);
  if (texts.size > urlsMax + 1)
    throw new GatewayError('VALIDATION_FAILED', `A call may name ${urlsMax} URLs beside its own.`);
}
