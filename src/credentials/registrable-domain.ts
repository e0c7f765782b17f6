import { getDomain } from 'tldts';
import { sharedOwner } from './shared-suffixes.ts';

/**
 * The domain that one owner has registered, by the public suffix list with its private part and a list of our own: `acme.com` of
 * `api.acme.com`, and `acme.github.io` and `acme.modal.run` of themselves. An IP address, a name of one label and a suffix are their own.
 */
export const registrableDomain = (host: string): string =>
  sharedOwner(host) ?? getDomain(host, { allowPrivateDomains: true }) ?? host;
