import { type Permission, permissions } from '../../core/permissions.ts';
import type { SessionCaller } from './session-caller.ts';

export const roles = ['admin', 'developer', 'reviewer', 'auditor'] as const;

/**
 * Permissions of which one makes its holder a developer. A role is a name for people only, since each route
 * asks for permissions.
 */
const building: readonly Permission[] = [
  'policies:write',
  'keys:ephemeral',
  'keys:revoke',
  'credentials:write',
  'routes:write',
];
const reviewing: readonly Permission[] = ['approvals:decide', 'incidents:write', 'agents:write'];
/** Permissions that only programs need. They do not open the console. */
const forPrograms: readonly string[] = ['scan', 'keys:ephemeral'];

export const permissionsOf = (caller: SessionCaller): readonly string[] =>
  caller.kind === 'admin' || caller.key.permissions.includes('admin') ? permissions : caller.key.permissions;

export function roleOf(caller: SessionCaller): (typeof roles)[number] {
  const held = permissionsOf(caller);
  const has = (some: readonly string[]): boolean => some.some((it) => held.includes(it));
  if (has(['admin'])) return 'admin';
  if (has(building)) return 'developer';
  if (has(reviewing)) return 'reviewer';
  return has(['scan']) ? 'developer' : 'auditor';
}

/** Tells whether the console has anything for the holder to see. */
export const maySignIn = (caller: SessionCaller): boolean =>
  permissionsOf(caller).some((it) => !forPrograms.includes(it));
