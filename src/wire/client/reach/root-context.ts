import { hash } from 'node:crypto';
import tls, { type SecureContext } from 'node:tls';
import { RecentMap } from '../../../util/recent-map.ts';
import { cipherSuites } from '../../tls/cipher-suites.ts';

/**
 * Contexts by the digest of their roots. To read roots takes tens of milliseconds, so generations and all
 * that dials share what is the same.
 */
const contexts = new RecentMap<string, SecureContext>(4);

/**
 * Returns the context for connections to servers whose certificates lead to one of these roots (PEM). TLS is
 * 1.2 at least.
 */
export function contextFor(roots: readonly string[]): SecureContext {
  const key = hash('sha256', roots.join('\n'));
  const context =
    contexts.get(key) ??
    tls.createSecureContext({ ca: [...roots], minVersion: 'TLSv1.2', ciphers: cipherSuites });
  // The contexts that were asked for last stay.
  contexts.set(key, context);
  return context;
}
