import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

const lists = new WeakMap<readonly string[], BlockList>();

/**
 * The address that a request comes from. Where the peer is a trusted proxy: the rightmost entry of X-Forwarded-For that is none, since
 * everything to the left of it is what that client says of itself. An entry that is no address ends the search: nobody can tell more
 * than who sent it, so the proxy itself is the client.
 */
export function clientAddressOf(request: IncomingMessage, trustedProxies: readonly string[]): string {
  let address = plain(request.socket.remoteAddress ?? '');
  if (trustedProxies.length === 0) return address;
  const trusted = listOf(trustedProxies);
  const forwarded = request.headers['x-forwarded-for'];
  const entries = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
  while (isTrusted(trusted, address)) {
    const entry = entries.pop();
    if (entry === undefined) break;
    const next = plain(entry.trim());
    if (isIP(next) === 0) break;
    address = next;
  }
  return address;
}

/** Without the port and the brackets that some proxies write; IPv4-mapped addresses as the IPv4 address that they are. */
function plain(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  const address = bracketed ?? text.replace(/^([\d.]+):\d+$/, '$1');
  return address.toLowerCase().startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

function isTrusted(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

function listOf(ranges: readonly string[]): BlockList {
  const known = lists.get(ranges);
  if (known) return known;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  lists.set(ranges, list);
  return list;
}
