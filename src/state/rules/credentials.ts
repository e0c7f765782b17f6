import { GatewayError } from '../../core/errors.ts';
import type { SealedCredential } from '../store.ts';

/** The limit of a tenant's credentials of the vault. */
export const credentialsMax = 1_000;
/**
 * The limit of the characters of a tenant's sealed credentials in all. Every node reads all of them after
 * each change.
 */
export const sealedCharsMax = 4_000_000;

/** Throws CONFLICT where a tenant with these credentials has no room for a new one, or for a longer one. */
export function checkRoom(next: SealedCredential, standing: readonly SealedCredential[]): void {
  const before = standing.find((it) => it.name === next.name);
  if (before && before.sealed.length >= next.sealed.length) return;
  const others = standing.filter((it) => it !== before);
  const chars = others.reduce((sum, it) => sum + it.sealed.length, next.sealed.length);
  if (!before && others.length >= credentialsMax) throw tooMany(`${credentialsMax} credentials`);
  if (chars > sealedCharsMax) throw tooMany(`credentials of ${sealedCharsMax} characters`);
}

const tooMany = (what: string): GatewayError =>
  new GatewayError('CONFLICT', `A tenant may have ${what} in the vault; delete one.`);
