import { createPrivilegeOf, type Privileges } from '../signals/privileges.ts';
import { createCarriedReads } from './carried-reads.ts';
import { createSecretHashes } from './secret-hashes.ts';
import type { WeighOptions } from './stages/weigh.ts';
import type { TenantSecrets } from './tenant-secrets.ts';

/** What the weigh stage brings together with what was seen before. */
export const createNoticing = (
  { credentialKey, shingler }: Pick<TenantSecrets, 'credentialKey' | 'shingler'>,
  privileges: Privileges,
): Pick<WeighOptions, 'findCarriedReads' | 'hashSecrets' | 'privilegeOf'> => ({
  findCarriedReads: createCarriedReads(shingler),
  hashSecrets: createSecretHashes(credentialKey),
  privilegeOf: createPrivilegeOf(privileges),
});
