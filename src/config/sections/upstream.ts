import * as z from 'zod';
import { toAuthority } from '../../core/target.ts';
import { parseNoProxyEntry } from '../../wire/client/reach/no-proxy.ts';
import { parseParentUrl } from '../../wire/client/reach/parent.ts';
import {
  address,
  addressRange,
  duration,
  flag,
  hostGlob,
  hostOrCidr,
  integer,
  parseCidr,
  parsed,
  parseHostGlob,
  path,
} from '../scalars.ts';
import { list, orNull, section } from '../section.ts';

const resolution = section({
  host: hostGlob.describe('Host or glob of hosts; * matches any depth.'),
  address: address.describe('Address that is dialled instead of asking DNS.'),
  port: orNull(integer(1, 65_535)).describe('Port that is dialled; null: that of the call.'),
});

const parentUrl = parsed(
  (text) => (parseParentUrl(text) ? text : undefined),
  'must be http://[user:password@]host:port or https://…, with what is special in user and password percent-encoded',
);

/**
 * Returns an entry of `no_proxy` in its normal form, with its port behind it; undefined for any other text.
 */
function parsePassedBy(text: string): string | undefined {
  const entry = parseNoProxyEntry(text);
  if (!entry) return undefined;
  const dot = entry.place.startsWith('.') ? '.' : '';
  const name = parseHostGlob(entry.place.slice(dot.length));
  const place = parseCidr(entry.place) ?? (name === undefined ? undefined : dot + name);
  return place === undefined || entry.port === undefined ? place : toAuthority('', place, entry.port);
}

const passedBy = parsed(
  parsePassedBy,
  'must be a domain, a glob of hosts, an address or an address range, each with or without :port',
);

/** The way calls leave: what may be dialled, and how long it may take. */
export const upstream = section({
  ca_files: list(path, 64).describe('PEM files of authorities that are trusted beside the built-in ones.'),
  resolve: list(resolution).describe('Replaces DNS, and nothing else, for these hosts.'),
  allow_private: list(addressRange, 1024).describe(
    'Private address ranges that may be dialled nevertheless.',
  ),
  deny: list(hostOrCidr).describe('Hosts and address ranges that nobody may call.'),
  allowed_ports: list(integer(1, 65_535), 1024).describe('Ports that may be dialled; empty: all.'),
  proxy: orNull(parentUrl).describe(
    'Parent proxy that calls are sent through (CONNECT), http:// or https://, with its credentials.',
  ),
  proxy_resolves: flag
    .prefault(false)
    .describe(
      'Whether the parent proxy is asked for names and resolves them; then it must refuse what leads inside.',
    ),
  no_proxy: list(passedBy, 1024).describe(
    'What is dialled past the parent proxy: domains with all below them, globs, addresses, ranges; with :port or not.',
  ),
  connect_timeout: duration().prefault('10s').describe('For DNS, TCP and TLS together; exceeded: 504.'),
  response_timeout: duration()
    .prefault('120s')
    .describe('Until the head of the answer, once the body has left; exceeded: 504.'),
  idle_timeout: duration().prefault('5m').describe('Between bytes after that; there is no total limit.'),
  h2: z
    .enum(['auto', 'always', 'never'])
    .default('auto')
    .describe('auto: HTTP/1.1, and h2 where the call needs it or the origin offers nothing else.'),
}).prefault({});

export const intercept = section({
  passthrough: list(hostGlob).describe('Hosts that are tunnelled unread; policy sees host and port only.'),
}).prefault({});
