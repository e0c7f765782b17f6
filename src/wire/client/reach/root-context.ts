import { hash } from 'node:crypto';
import tls, { type SecureContext } from 'node:tls';
import { cipherSuites } from '../../tls/cipher-suites.ts';

/** To read the roots takes tens of milliseconds: generations and all that dials share what is the same. */
const contexts = new Map<string, SecureContext>();
const contextsMax = 4;

/** For connections to servers whose certificates lead to one of these, as PEM: TLS 1.2 at least. */
export function contextFor(roots: readonly string[]): SecureContext {
  const key = hash('sha256', roots.join('\n'));
  const context =
    contexts.get(key) ??
    tls.createSecureContext({ ca: [...roots], minVersion: 'TLSv1.2', ciphers: cipherSuites });
  // Those that were asked for last stay.
  contexts.delete(key);
  contexts.set(key, context);
  for (const oldest of contexts.keys()) {
    if (contexts.size <= contextsMax) break;
    contexts.delete(oldest);
  }
  return context;
}
