/** The permissions of a key. `admin` allows everything within its tenant. */
export const permissions = [
  'scan',
  'policies:read',
  'policies:write',
  'keys:read',
  'keys:ephemeral',
  'keys:revoke',
  'activity:read',
  'usage:read',
  'agents:write',
  'incidents:write',
  'approvals:decide',
  'credentials:write',
  'routes:write',
  'admin',
] as const;

export type Permission = (typeof permissions)[number];
