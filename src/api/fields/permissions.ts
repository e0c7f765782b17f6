import { GatewayError } from '../../core/errors.ts';
import type { Permission } from '../../core/permissions.ts';
import type { KeyRecord } from '../../state/store.ts';

/**
 * Returns FORBIDDEN with what is lacking, unless the key has one of the permissions. `admin` has them all.
 */
export function lacking({ permissions }: KeyRecord, anyOf: readonly Permission[]): GatewayError | undefined {
  if (permissions.includes('admin') || anyOf.some((it) => permissions.includes(it))) return undefined;
  const names = anyOf.map((it) => `"${it}"`).join(' or ');
  return new GatewayError('FORBIDDEN', `The key lacks the permission ${names}.`);
}

/** Throws FORBIDDEN where the key has none of these permissions. */
export function demand(key: KeyRecord, anyOf: readonly Permission[]): void {
  const refusal = lacking(key, anyOf);
  if (refusal) throw refusal;
}
