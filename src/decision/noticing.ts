import { createSecretHashes } from '../credentials/secret-hashes.ts';
import type { TenantSecrets } from '../credentials/tenant-secrets.ts';
import { createPrivilegesOf, type PrivilegeTable } from '../risk/signals/privileges.ts';
import { createCarriedReads } from './facts/carried-reads.ts';
import type { AssessOptions } from './stages/assess-risk.ts';

/** Connects the risk stage with earlier events. */
export const createNoticing = (
  { credentialKey, shingler }: Pick<TenantSecrets, 'credentialKey' | 'shingler'>,
  privileges: PrivilegeTable,
): Pick<AssessOptions, 'findCarriedReads' | 'hashSecrets' | 'privilegesOf'> => ({
  findCarriedReads: createCarriedReads(shingler),
  hashSecrets: createSecretHashes(credentialKey),
  privilegesOf: createPrivilegesOf(privileges),
});
