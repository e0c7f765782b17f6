import * as z from 'zod';
import { address, cidr, duration, hostGlob, hostOrCidr, integer, path, url } from './scalars.ts';
import { list, section } from './section.ts';

const resolution = section({
  host: hostGlob.describe('Host or glob of hosts; * matches any depth.'),
  address: address.describe('Address that is dialled instead of asking DNS.'),
  port: integer(1, 65_535).nullable().default(null).describe('Port that is dialled; null: that of the call.'),
});

/** How calls leave: what may be dialled, and how long it may take. */
export const upstream = section({
  ca_files: list(path, 64).describe('PEM files of authorities that are trusted beside the built-in ones.'),
  resolve: list(resolution).describe('Replaces DNS, and nothing else, for these hosts.'),
  allow_private: list(cidr, 1024).describe('Private address ranges that may be dialled nevertheless.'),
  deny: list(hostOrCidr).describe('Hosts and address ranges that nobody may call.'),
  allowed_ports: list(integer(1, 65_535), 1024).describe('Ports that may be dialled; empty: all.'),
  proxy: url(['http', 'https'], { userInfo: true })
    .nullable()
    .default(null)
    .describe('Parent proxy that calls are sent through.'),
  no_proxy: list(hostOrCidr, 1024).describe('Hosts and ranges that are dialled past the parent proxy.'),
  connect_timeout: duration().prefault('10s').describe('For DNS, TCP and TLS together; exceeded: 504.'),
  response_timeout: duration().prefault('120s').describe('Until the head of the answer; exceeded: 504.'),
  idle_timeout: duration().prefault('5m').describe('Between bytes after that; there is no total limit.'),
  h2: z
    .enum(['auto', 'always', 'never'])
    .default('auto')
    .describe('auto: HTTP/1.1, and h2 where the call needs it or the origin offers nothing else.'),
}).prefault({});

export const intercept = section({
  passthrough: list(hostGlob).describe('Hosts that are tunnelled unread; policy sees host and port only.'),
}).prefault({});
