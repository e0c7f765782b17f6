import type { Route } from './route.ts';
import { approvalStatus } from './routes/approvals.ts';
import { health, ready } from './routes/health.ts';
import { mintKey, revokeKey } from './routes/keys.ts';
import { applyPolicy, policyByName } from './routes/policies.ts';
import { scan } from './routes/scan.ts';

/** All endpoints of the control plane. */
export const apiRoutes: readonly Route[] = [
  health,
  ready,
  scan,
  mintKey,
  revokeKey,
  approvalStatus,
  applyPolicy,
  policyByName,
];
