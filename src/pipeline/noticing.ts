import { createPrivilegesOf, type PrivilegeTable } from '../signals/privileges.ts';
import { createCarriedReads } from './carried-reads.ts';
import { createSecretHashes } from './secret-hashes.ts';
import type { WeighOptions } from './stages/weigh.ts';
import type { TenantSecrets } from './tenant-secrets.ts';

/** What the weigh stage brings together with what was seen before. */
export const createNoticing = (
  { credentialKey, shingler }: Pick<TenantSecrets, 'credentialKey' | 'shingler'>,
  privileges: PrivilegeTable,
): Pick<WeighOptions, 'findCarriedReads' | 'hashSecrets' | 'privilegesOf'> => ({
  findCarriedReads: createCarriedReads(shingler),
  hashSecrets: createSecretHashes(credentialKey),
  privilegesOf: createPrivilegesOf(privileges),
});
