import type { KeyRecord } from '../store.ts';

/** The fields that every live key sets. */
type Given = Pick<
  KeyRecord,
  'keyId' | 'hash' | 'prefix' | 'tenantId' | 'envName' | 'agentId' | 'name' | 'permissions' | 'createdAtMs'
>;

/** Optional fields of a key: absent ones mean no limit, no bound and no further environment. */
type Chosen = Partial<
  Pick<
    KeyRecord,
    'envNames' | 'description' | 'ipAllowlist' | 'expiresAtMs' | 'perMinute' | 'requireNonce' | 'isFromConfig'
  >
>;

/** Returns the record of a new live key. */
export const liveKey = (fields: Given & Chosen): KeyRecord => ({
  type: 'live',
  envNames: [],
  description: null,
  ipAllowlist: null,
  expiresAtMs: null,
  revokedAtMs: null,
  revokedBy: null,
  perMinute: null,
  requireNonce: false,
  parentKeyId: null,
  maxUses: null,
  scope: null,
  isFromConfig: false,
  ...fields,
});
