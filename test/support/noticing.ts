import { join } from 'node:path';
import { createTenantSecrets } from '../../src/credentials/tenant-secrets.ts';
import { createNoticing } from '../../src/decision/noticing.ts';
import { loadPrivileges } from '../../src/risk/signals/privileges.ts';

/** The secrets of the tenants of a test. */
export const tenantSecrets = createTenantSecrets(Buffer.alloc(32, 7));

export const privileges = loadPrivileges(join(import.meta.dirname, '../../config/signals/privileges.yaml'));

/** Connects the risk stage with earlier events, as in a gateway. */
export const noticing = createNoticing(tenantSecrets, privileges);

/** As the configuration has them where it says nothing. */
export const trustLosses = { denial: 0.05, analystDenial: 0.1, threatHit: 0.2, anomaly: 0.02 };
