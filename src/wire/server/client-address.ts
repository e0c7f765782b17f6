import { isIP } from 'node:net';
import { isWithin, unmapped } from '../../util/addresses.ts';
import { fieldOf } from '../http1/field.ts';
import type { Exchange } from './exchange.ts';
import { peerAddress } from './peer-address.ts';

/**
 * Returns the address that a request comes from. Behind a trusted proxy it is the rightmost entry of
 * X-Forwarded-For that is not a trusted proxy. Everything to the left of that entry is what the client says
 * of itself. An entry that is no address ends the search. The proxy that sent it is taken for the client, as
 * nobody can tell more.
 */
export function clientAddressOf(
  { socket, fields }: Pick<Exchange, 'socket' | 'fields'>,
  trustedProxies: readonly string[],
): string {
  let address = plain(peerAddress(socket));
  if (trustedProxies.length === 0) return address;
  const entries = fieldOf(fields, 'x-forwarded-for').split(',');
  while (isWithin(trustedProxies, address)) {
    const entry = entries.pop();
    if (entry === undefined) break;
    const next = plain(entry.trim());
    if (isIP(next) === 0) break;
    address = next;
  }
  return address;
}

/**
 * Returns an address without a port and brackets, which some proxies write. A mapped IPv4 address becomes
 * IPv4.
 */
function plain(text: string): string {
  if (/^[\d.]+$/.test(text)) return text;
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  return unmapped(bracketed ?? text.replace(/^([\d.]+):\d+$/, '$1'));
}
