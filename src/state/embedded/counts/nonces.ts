import { Tally } from '../../../util/tally.ts';
import { noncesPerKeyMax, noncesPerTenantMax, tooManyNonces } from '../../rules/nonces.ts';

interface Seen {
  readonly keyId: string;
  readonly claimedAtMs: number;
  readonly endsAtMs: number;
}

interface TenantNonces {
  /** The nonces in the order in which they came, which is about that of their ends. */
  readonly seen: Map<string, Seen>;
  /** The number of nonces of each key. */
  readonly held: Tally;
}

/**
 * Remembers nonces in memory, so a restart forgets them. A call that was sent within the replay window before
 * a restart can be sent once more after it.
 */
export class Nonces {
  readonly #byTenant = new Map<string, TenantNonces>();

  /**
   * Claims a nonce; returns false where it was claimed before and has not ended. Throws GATEWAY_BUSY while
   * the key or its tenant has as many as it may.
   */
  claim(tenantId: string, keyId: string, nonce: string, nowMs: number, endsAtMs: number): boolean {
    const nonces = this.#byTenant.get(tenantId) ?? this.#nothingYet(tenantId);
    dropEnded(nonces, nowMs);
    const name = `${keyId} ${nonce}`;
    const standing = nonces.seen.get(name);
    if (standing && standing.endsAtMs > nowMs) return false;
    if (standing) drop(nonces, name, standing);
    if (nonces.held.of(keyId) >= noncesPerKeyMax || nonces.seen.size >= noncesPerTenantMax)
      throw tooManyNonces(endsAtMs - nowMs);
    nonces.seen.set(name, { keyId, claimedAtMs: nowMs, endsAtMs });
    nonces.held.add(keyId);
    return true;
  }

  #nothingYet(tenantId: string): TenantNonces {
    const none: TenantNonces = { seen: new Map(), held: new Tally() };
    this.#byTenant.set(tenantId, none);
    return none;
  }
}

/** Drops nonces that have ended, up to the first that has not. */
function dropEnded(nonces: TenantNonces, nowMs: number): void {
  for (const [name, it] of nonces.seen) {
    if (it.endsAtMs > nowMs && !isFarAhead(it, nowMs)) return;
    drop(nonces, name, it);
  }
}

/**
 * Tells whether a nonce was claimed by a clock that was ahead so far that the replay window refuses its call
 * now. The call's time is at most one window before the claim, and is let in from one window before that.
 */
const isFarAhead = ({ claimedAtMs, endsAtMs }: Seen, nowMs: number): boolean =>
  claimedAtMs - nowMs > 2 * (endsAtMs - claimedAtMs);

function drop({ seen, held }: TenantNonces, name: string, { keyId }: Seen): void {
  seen.delete(name);
  held.add(keyId, -1);
}
