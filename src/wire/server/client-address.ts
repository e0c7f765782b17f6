import { isIP } from 'node:net';
import { isWithin, unmapped } from '../../util/ranges.ts';
import { fieldOf } from '../http1/field.ts';
import type { Exchange } from './exchange.ts';
import { peerAddress } from './peer-address.ts';

/**
 * Returns the address that a request comes from. Behind a trusted proxy it is the rightmost entry of
 * X-Forwarded-For that is none. Everything to the left of it is what that client says of itself. An entry
 * that is no address ends the search: nobody can tell more than who sent it, so the proxy itself is the
 * client.
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

/** Removes a port and brackets, which some proxies write; a mapped IPv4 address becomes IPv4. */
function plain(text: string): string {
  if (/^[\d.]+$/.test(text)) return text;
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  return unmapped(bracketed ?? text.replace(/^([\d.]+):\d+$/, '$1'));
}
