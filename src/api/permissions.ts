import { GatewayError } from '../errors.ts';
import type { KeyRecord } from '../state/store.ts';
import type { Permission } from './route.ts';

/** What a key minted without the field may do. */
export const defaultPermissions: readonly Permission[] = [
  'scan',
  'policies:read',
  'policies:write',
  'keys:read',
  'keys:ephemeral',
  'keys:revoke',
  'activity:read',
  'usage:read',
];

/** Throws FORBIDDEN, naming what is lacking, unless the key has one of these permissions. `admin` has them all. */
export function demand({ permissions }: KeyRecord, anyOf: readonly Permission[]): void {
  if (permissions.includes('admin') || anyOf.some((it) => permissions.includes(it))) return;
  const names = anyOf.map((it) => `"${it}"`).join(' or ');
  throw new GatewayError('FORBIDDEN', `The key lacks the permission ${names}.`);
}
