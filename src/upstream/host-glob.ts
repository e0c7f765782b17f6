import { domainToASCII } from 'node:url';
import picomatch from 'picomatch';

export type HostMatcher = (host: string) => boolean;

const wildcard = /[*?[\]{}!()]/;

/** Hosts are compared in their normal form, so a label of a glob takes that form too: lower case, punycode. */
const toLabel = (label: string): string => (wildcard.test(label) ? label : domainToASCII(label) || label);

/**
 * Compiles a host glob: `*` stands for any labels, at any depth, so `*.example.com` also matches `a.b.example.com`, but not
 * `example.com`.
 */
export function toHostMatcher(glob: string): HostMatcher {
  const pattern = glob.toLowerCase().replace(/\.$/, '').split('.').map(toLabel).join('.');
  const matches = picomatch(pattern, { dot: true, nonegate: true, noextglob: true });
  // Not picomatch's own function: whatever else that is called with asks for another kind of answer.
  return (host) => matches(host);
}
