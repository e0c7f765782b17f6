import { constants } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { RecentMap } from '../../util/recent-map.ts';
import type { Authority } from './authority.ts';
import { dayMs } from './certificate.ts';
import { cipherSuites } from './cipher-suites.ts';

interface ContextsOptions {
  /** Number of hosts that are kept. The one that was not used for the longest time makes room. */
  readonly contextsMax?: number;
  readonly now: () => number;
  /** Options for each context. They do not change the certificate, its key and the floor of TLS 1.2. */
  readonly secureContextOptions?: Omit<SecureContextOptions, 'cert' | 'key' | 'minVersion'>;
}

export type Contexts = ReturnType<typeof createContexts>;

interface Entry {
  readonly context: SecureContext;
  /**
   * Time from which the leaf is used, until `renewAtMs`. After the clock was set back, no leaf is used that
   * is not valid yet.
   */
  readonly notBeforeMs: number;
  readonly renewAtMs: number;
  readonly ballast: Buffer;
}

/**
 * Time before its end at which a leaf is replaced, so that clients whose clock is ahead accept leaves, too.
 */
const renewalMs = dayMs;

/**
 * Bytes that OpenSSL holds for one context (measured). V8 sees some hundred of them and lets thousands of
 * dead contexts wait for a collection. So each entry carries as much memory that V8 does count. Nobody writes
 * to that memory, so it takes no pages. After 20,000 handshakes with new names the process had 223 MB instead
 * of 619 MB.
 */
const contextBytes = 40_000;

/**
 * Creates the keeper of TLS contexts by host, each of which is made when it is first asked for (0.25 ms, of
 * which the leaf takes 0.03).
 *
 * A flood of new names costs its sender a handshake each, and pushes out hosts that are not in use. A host
 * that is used once in every `contextsMax` new names stays. One that was pushed out is back for the price of
 * a new context and a full handshake. Hence this is plain least-recently-used, with no admission rule.
 */
export function createContexts(authority: Authority, options: ContextsOptions) {
  const { contextsMax = 1000, now, secureContextOptions } = options;
  // A Map keeps the order of insertion: what is used goes to its end, so the beginning is the least recently
  // used.
  const entries = new RecentMap<string, Entry>(contextsMax);

  function create(host: string, nowMs: number): Entry {
    const leaf = authority.issue(host, nowMs);
    const context = createSecureContext({
      // Clients are not asked for certificates. Without this line the first context reads the machine's
      // public roots.
      ca: [],
      honorCipherOrder: true,
      ciphers: cipherSuites,
      ...secureContextOptions,
      minVersion: 'TLSv1.2',
      // Each renegotiation of TLS 1.2 costs us a handshake, and no client of today needs one.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      cert: leaf.cert,
      key: leaf.key,
    });
    // The last leaves of an authority end with it, and a new one would not hold for longer.
    const isLast = leaf.expiresAtMs >= authority.expiresAtMs;
    const renewAtMs = isLast ? leaf.expiresAtMs : leaf.expiresAtMs - renewalMs;
    return {
      context,
      notBeforeMs: leaf.notBeforeMs,
      renewAtMs,
      ballast: Buffer.allocUnsafeSlow(contextBytes),
    };
  }

  return {
    /** Returns a normalised host's context. It is synchronous, so that no host is made twice at once. */
    contextFor(host: string) {
      const nowMs = now();
      const kept = entries.get(host);
      // The old entry does not stay where no new one can be made.
      entries.delete(host);
      const isFresh = kept && nowMs >= kept.notBeforeMs && nowMs < kept.renewAtMs;
      const entry = isFresh ? kept : create(host, nowMs);
      entries.set(host, entry);
      return entry.context;
    },
    get size() {
      return entries.size;
    },
  };
}
