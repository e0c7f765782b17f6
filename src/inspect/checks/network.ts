import { isIPv6 } from 'node:net';
import type { Checks, SecretCheck } from './check.ts';

/** An IPv6 address in any of its forms, perhaps with the length of a prefix (RFC 4291 sections 2.2 and 2.3). */
const isIpv6: SecretCheck = (text) => {
  const [address = '', length] = text.split('/');
  return isIPv6(address) && (length === undefined || Number(length) <= 128);
};

/** Names that machines go by: NetBIOS names in capitals, names with a number, words for storage, names with a domain, addresses. */
const machineName =
  /^(?:[A-Z][A-Z0-9]{1,14}(?:-[A-Z0-9]{1,14}){0,3}|[A-Za-z][A-Za-z-]{1,20}\d{1,4}|[A-Za-z-]{0,16}(?:file|nas|share|storage|server|dfs|backup)[A-Za-z-]{0,16}|[A-Za-z0-9-]{1,40}(?:\.[A-Za-z0-9-]{1,40}){1,5})$/;
/** What an escaped line feed or letter looks like at the beginning of a name: `\\nNAME`, `\\u00e4`. */
const escapedStart = /^[nrtbfvux][0-9A-Z]/;

/** What manuals call it, and the file system of a virtual machine on Windows. */
const nobody =
  /^(?:server\d?|(?:my|your|some)-?server|server-?name|host|hostname|computer|localhost|wsl\.localhost)$/i;

/** `\\MACHINE\share`: that the first part can name a machine tells it from text that was escaped twice. */
const isFileShare: SecretCheck = (text) => {
  const [, machine = ''] = /^\\\\([^\\]+)\\/.exec(text) ?? [];
  return machineName.test(machine) && !escapedStart.test(machine) && !nobody.test(machine);
};

/** Addresses and names of networks. */
export const networkChecks = {
  ipv6: isIpv6,
  'file-share': isFileShare,
} as const satisfies Checks;
