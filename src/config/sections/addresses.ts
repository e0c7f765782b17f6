import * as z from 'zod';
import { normaliseHost } from '../../core/target.ts';
import type { StateAddress } from '../../state/open.ts';
import { parsed } from '../scalars.ts';

/** The address of a listener. Port 0 stands for a free one. */
export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** Parses `host:port`, `[::1]:port` or `unix:/path`. Returns undefined for any other text. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    // On Linux `sun_path` holds 107 bytes (unix(7)).
    return path === '' || path.includes('\0') || Buffer.byteLength(path) > 107
      ? undefined
      : { kind: 'unix', path };
  }
  const [, written, digits] = /^(\[[^\]]{2,64}\]|[^:]{1,253}):(\d{1,5})$/.exec(text) ?? [];
  const host = normaliseHost(written ?? '');
  const port = Number(digits);
  return host === undefined || port > 65_535 ? undefined : { kind: 'tcp', host, port };
}

function listenAddress(text: string, allowUnix: boolean): ListenAddress | undefined {
  const address = parseListenAddress(text);
  return address?.kind === 'unix' && !allowUnix ? undefined : address;
}

/** Returns the schema of one address or of a list of them, up to 16. */
export function listenAddresses(options: { unix: boolean }) {
  const message = `must be host:port${options.unix ? ' or unix:/path' : ''}, or a list of them`;
  return z
    .union([z.string(), z.array(z.string()).min(1).max(16)], { error: message })
    .transform((value, context): readonly ListenAddress[] => {
      const found = [value].flat().map((text) => listenAddress(text, options.unix));
      for (const [index, address] of found.entries()) {
        if (!address)
          context.addIssue({ code: 'custom', message, path: Array.isArray(value) ? [index] : [] });
      }
      return Object.freeze(found.filter((it) => it !== undefined));
    });
}

const redisUrl =
  /^redis(s)?(\+cluster)?:\/\/(?:([^@/?]*)@)?([^@/?]{1,2048})(?:\/(\d{0,3}))?(?:\?prefix=([A-Za-z0-9:_.{}-]{0,64}))?$/;

function parseNode(text: string): { host: string; port: number } | undefined {
  const [, written, digits = '6379'] = /^(\[[^\]]{2,64}\]|[^:]{1,253})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = normaliseHost(written ?? '');
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

function decoded(text: string): string | null | undefined {
  try {
    return decodeURIComponent(text) || null;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/**
 * Parses `embedded:<dir>`, `redis://…`, `rediss://…` or `redis+cluster://h1:p1,h2:p2`. Returns undefined for
 * any other text.
 */
export function parseStateUrl(text: string): StateAddress | undefined {
  if (text.startsWith('embedded:')) {
    const dir = text.slice('embedded:'.length);
    return dir === '' || dir.includes('\0') ? undefined : Object.freeze({ driver: 'embedded', dir });
  }
  const match = redisUrl.exec(text);
  if (!match) return undefined;
  const [, tls, cluster, userInfo = '', hosts = '', database = '', prefix = 'postern:'] = match;
  const nodes = hosts
    .split(',')
    .map(parseNode)
    .filter((it) => it !== undefined);
  const colon = userInfo.indexOf(':');
  const username = decoded(colon < 0 ? userInfo : userInfo.slice(0, colon));
  const password = decoded(colon < 0 ? '' : userInfo.slice(colon + 1));
  if (username === undefined || password === undefined || nodes.length !== hosts.split(',').length)
    return undefined;
  // Several nodes are a cluster, and a cluster has only database 0.
  if ((nodes.length > 1 && !cluster) || (cluster && Number(database) > 0)) return undefined;
  return Object.freeze({
    driver: 'redis',
    cluster: cluster !== undefined,
    tls: tls !== undefined,
    nodes: Object.freeze(nodes),
    username,
    password,
    database: Number(database),
    prefix,
  });
}

export const stateUrl = parsed(
  parseStateUrl,
  'must be embedded:<dir>, redis://host:port/0?prefix=…, rediss://… or redis+cluster://host:port,host:port',
);
