import { BlockList, isIP } from 'node:net';
import { GatewayError } from '../errors.ts';
import type { KeyRecord } from '../state/store.ts';

const compiled = new WeakMap<KeyRecord, BlockList>();

/**
 * Throws IP_NOT_ALLOWED where the key has an allowlist and the caller's address is outside of it. An address that cannot be
 * told is outside. IPv4-mapped IPv6 addresses count as the IPv4 address that they are.
 */
export function checkAllowlist(key: KeyRecord, clientAddress: string): void {
  if (key.ipAllowlist === null) return;
  let list = compiled.get(key);
  if (!list) {
    list = compile(key.ipAllowlist);
    compiled.set(key, list);
  }
  const family = isIP(clientAddress);
  if (family !== 0 && list.check(clientAddress, family === 6 ? 'ipv6' : 'ipv4')) return;
  throw new GatewayError(
    'IP_NOT_ALLOWED',
    'The address that the call comes from is not on the allowlist of the key.',
  );
}

function compile(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
