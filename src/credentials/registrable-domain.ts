import { getDomain } from 'tldts';
import { packagedLines } from '../util/files/packaged-lines.ts';
import { lazily } from '../util/lazily.ts';

/**
 * Returns the domain that one owner has registered, by the public suffix list with its private part and a
 * list of our own. It is `acme.com` for `api.acme.com`. The domains `acme.github.io` and `acme.modal.run` are
 * their own, and so are an IP address, a name of one label and a suffix.
 */
export const registrableDomain = (host: string): string =>
  sharedOwner(host) ?? getDomain(host, { allowPrivateDomains: true }) ?? host;

/** The number of labels below each suffix that make an owner; all of them for `*`. */
const sharedSuffixes = lazily(
  () =>
    new Map(
      packagedLines('hosts/shared-suffixes.txt').map((line) => {
        const [suffix = '', labels] = line.split(' ');
        return [suffix, labels === '*' ? Number.POSITIVE_INFINITY : Number(labels)];
      }),
    ),
);

/**
 * Returns the part of a host that belongs to one owner by our list; undefined if it is below no suffix of the
 * list.
 */
function sharedOwner(host: string): string | undefined {
  const labels = host.split('.');
  for (let at = 0; at < labels.length; at += 1) {
    const count = sharedSuffixes().get(labels.slice(at).join('.'));
    if (count !== undefined) return labels.slice(Math.max(0, at - count)).join('.');
  }
  return undefined;
}
