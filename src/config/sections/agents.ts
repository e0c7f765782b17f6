import * as z from 'zod';
import { type Permission, permissions } from '../../core/permissions.ts';
import {
  addressRange,
  configInstant,
  configTitle,
  configUuid,
  identifier,
  line,
  parsed,
} from '../scalars.ts';
import { list, orNull, section } from '../section.ts';

/** The permissions of a key that is minted without that field. */
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

export const configTenantId = orNull(identifier).describe(
  'Id of the tenant; may be left out where there is only one.',
);

export const agent = section({
  id: configUuid.describe('UUID of the agent.'),
  tenant: configTenantId,
  env: orNull(identifier).describe("Its environment; null: the tenant's first."),
  name: orNull(configTitle).describe('Its name for people; null: the id.'),
  runtime_type: z
    .string()
    .regex(/^\P{Cc}{1,64}$/u, { error: 'must be 1 to 64 characters' })
    .nullable()
    .default(null)
    .describe('What it runs on: langchain, crewai, claude_code, custom, …'),
});

const digest = parsed(
  (text) => (/^sha256:[0-9a-f]{64}$/i.test(text) ? text.slice('sha256:'.length).toLowerCase() : undefined),
  'must be sha256: and the SHA-256 of the whole key in hex, as `postern key generate` prints it',
);

export const key = section({
  name: configTitle.describe('Name of the key for people and the audit log.'),
  tenant: configTenantId,
  env: orNull(identifier).describe("Its environment; null: its agent's."),
  agent: configUuid.describe('Agent that calls with this key are made by, unless they name another one.'),
  hash: digest.describe('sha256: and the hex digest of the key; the key itself is never written down.'),
  permissions: orNull(list(z.enum(permissions), permissions.length)).describe(
    'What it may do; null: scan alone.',
  ),
  ip_allowlist: orNull(list(addressRange, 1000)).describe('Addresses that may use it; null: any.'),
  expires_at: orNull(configInstant).describe('End of its life, as 2030-01-31T12:00:00Z; null: none.'),
  description: orNull(line).describe('Free text.'),
});
