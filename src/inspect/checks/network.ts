import { isIPv6 } from 'node:net';
import type { Checks } from './check.ts';

/**
 * Matches names of machines: NetBIOS names in capitals, names with a number, words for storage, names with a
 * domain, addresses.
 */
const machineName =
  /^(?:[A-Z][A-Z0-9]{1,14}(?:-[A-Z0-9]{1,14}){0,3}|[A-Za-z][A-Za-z-]{1,20}\d{1,4}|[A-Za-z-]{0,16}(?:file|nas|share|storage|server|dfs|backup)[A-Za-z-]{0,16}|[A-Za-z0-9-]{1,40}(?:\.[A-Za-z0-9-]{1,40}){1,5})$/;
/** Matches an escaped line feed or letter at the start of a name: `\\nNAME`, `\\u00e4`. */
const escapedStart = /^[nrtbfvux][0-9A-Z]/;

/** Matches names that manuals use, and the file system of a virtual machine on Windows. */
const nobody =
  /^(?:server\d?|(?:my|your|some)-?server|server-?name|host|hostname|computer|localhost|wsl\.localhost)$/i;

/** Checks of network addresses and names. */
export const networkChecks = {
  /** Checks an IPv6 address in any form, perhaps with a prefix length (RFC 4291, 2.2 and 2.3). */
  ipv6: (text) => {
    const [address = '', length] = text.split('/');
    return isIPv6(address) && (length === undefined || Number(length) <= 128);
  },
  /**
   * Tells whether the first part of `\\MACHINE\share` can name a machine. Texts that were escaped twice look
   * the same.
   */
  'file-share': (text) => {
    const [, machine = ''] = /^\\\\([^\\]+)\\/.exec(text) ?? [];
    return machineName.test(machine) && !escapedStart.test(machine) && !nobody.test(machine);
  },
} as const satisfies Checks;
