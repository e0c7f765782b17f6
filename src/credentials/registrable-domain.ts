import { getDomain } from 'tldts';
import { sharedOwner } from './shared-suffixes.ts';

/**
 * Returns the domain that one owner has registered, by the public suffix list with its private part and a
 * list of our own. It is `acme.com` for `api.acme.com`. The domains `acme.github.io` and `acme.modal.run` are
 * their own, and so are an IP address, a name of one label and a suffix.
 */
export const registrableDomain = (host: string): string =>
  sharedOwner(host) ?? getDomain(host, { allowPrivateDomains: true }) ?? host;
