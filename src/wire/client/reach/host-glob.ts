import { domainToASCII } from 'node:url';
import { compileGlob } from '../../../util/glob.ts';

export type HostMatcher = (host: string) => boolean;

const wildcard = /[*?[]/;
const unprintable = /[^ -~]/;

/**
 * Returns a label in the normal form in which hosts are compared: one beyond ASCII becomes punycode. Others
 * stay, since a number alone would become an address.
 */
const toLabel = (label: string): string =>
  unprintable.test(label) && !wildcard.test(label) ? domainToASCII(label) || label : label;

/**
 * Compiles a host glob: `*` stands for any labels, at any depth, so `*.example.com` also matches
 * `a.b.example.com`, but not `example.com`. A match takes no more steps than host and glob have characters,
 * multiplied.
 */
export function toHostMatcher(glob: string): HostMatcher {
  return compileGlob(glob.toLowerCase().replace(/\.$/, '').split('.').map(toLabel).join('.'));
}
