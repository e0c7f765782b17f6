import { GatewayError } from '../core/errors.ts';
import { parseTarget, type Target, targetWithin } from '../core/target.ts';
import { readingsOf } from '../core/url-readings.ts';
import { createCache } from '../state/cache.ts';
import { kept } from '../util/kept.ts';
import { undoEscapes } from '../util/percent.ts';

/*
 * The target of a request to a route: the base of its upstream, the rest of the path, and the query. The rest
 * comes from outside and must not lead anywhere else, whoever reads it.
 */

/** The parts of `/inbound/{prefix}/rest?query`. */
export interface InboundPath {
  readonly prefix: string;
  /** Path behind the prefix. It begins with `/`, or is empty where the request ends with the prefix. */
  readonly rest: string;
  /** Query with its `?`; '' where there is none. */
  readonly query: string;
}

const start = '/inbound/';
const decodingsMax = 4;
/** Stands for the base of any upstream. */
const someBase = 'http://host/base';
/**
 * Matches a rest that every server reads in one way: no escapes, no empty segments, none that begins with a
 * dot.
 */
const plainRest = /^(?:\/[\w~-][\w.~-]*)*\/?$/;
/** Number of upstreams whose URLs are kept as they were parsed. */
const basesMax = 1024;

/** Parses the target of a request; undefined where it is not that of an inbound route. */
export function parseInboundPath(target: string): InboundPath | undefined {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const [, prefix, rest = ''] = /^\/inbound\/([a-z0-9-]{1,32})(\/[^#]*)?$/.exec(path) ?? [];
  return prefix === undefined ? undefined : { prefix, rest, query: mark < 0 ? '' : target.slice(mark) };
}

/** Tells whether a request target is below `/inbound/`, whether or not there is such a route. */
export const isInboundTarget = (target: string): boolean => target.startsWith(start);

/** Throws for what a server might read as a way out of the base, and for any dot segment or empty segment. */
function checkRest(rest: string): void {
  if (plainRest.test(rest)) return;
  const isBelow = (url: string): boolean => url === someBase || url.startsWith(`${someBase}/`);
  if (!readingsOf(someBase + rest).every(isBelow)) throw refused();
  let path = rest;
  for (let i = 0; ; i++) {
    const segments = path.replaceAll('\\', '/').split('/').slice(1);
    // Servers drop what stands behind `;` before they look for dots (RFC 3986, 3.3).
    const climbs = segments.some((it) => /^\.{1,2}$/.test(it.split(';', 1)[0] ?? ''));
    const isEmpty = segments.slice(0, -1).includes('');
    if (climbs || isEmpty || /[\0-\x20\x7f]/.test(path)) throw refused();
    const decoded = undoEscapes(path);
    if (decoded === path) return;
    // A path that is encoded more often than anybody needs is hiding something.
    if (i === decodingsMax) throw refused();
    path = decoded;
  }
}

interface Base {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** Path of the upstream without a slash at its end. */
  readonly base: string;
}

const bases = createCache<Base>(basesMax);

function parseBase(upstream: string): Base {
  const { scheme, host, port, path } = parseTarget(upstream);
  return { scheme: scheme === 'http' ? 'http' : 'https', host, port, base: path.replace(/\/$/, '') };
}

/**
 * Returns the target of a request. `upstream` is a URL without a query. The target lies below it, or this
 * throws.
 */
export function targetBelow(upstream: string, { rest, query }: Pick<InboundPath, 'rest' | 'query'>): Target {
  checkRest(rest);
  const { scheme, host, port, base } = kept(bases, upstream, () => parseBase(upstream));
  const target = targetWithin(scheme, host, port, `${base}${rest || (base === '' ? '/' : '')}${query}`);
  const path = target.path.split('?', 1)[0] ?? '';
  if (target.host !== host || !(path === base || path.startsWith(`${base}/`))) throw refused();
  return target;
}

const refused = (): GatewayError =>
  new GatewayError(
    'VALIDATION_FAILED',
    'The path behind the prefix must be plain: no "." or ".." segments, no empty ones, no white space.',
  );
