import { getDomain } from 'tldts';

/**
 * The domain that one owner has registered, by the public suffix list with its private part: `acme.com` of `api.acme.com`, and
 * `acme.github.io` of itself. An IP address, a name of one label and a suffix are their own.
 */
export const registrableDomain = (host: string): string =>
  getDomain(host, { allowPrivateDomains: true }) ?? host;
