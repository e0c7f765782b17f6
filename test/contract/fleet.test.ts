import t from 'tap';
import { approvals, approvalsConfig } from './fleet/approvals.ts';
import { exactness, exactnessConfig } from './fleet/exactness.ts';
import { startFleet } from './fleet/fleet.ts';
import { revocation, revocationConfig } from './fleet/revocation.ts';

/* What must be exact, once and at once is so on one daemon and on several that share a state. */

const config = {
  ...exactnessConfig,
  ...revocationConfig,
  tenants: [exactnessConfig, approvalsConfig, revocationConfig].flatMap(({ tenants }) => tenants),
};

const states = [
  { name: 'one daemon with the embedded state', daemons: 1, isOnRedis: false, approvalCount: 250 },
  { name: 'four daemons on one Redis', daemons: 4, isOnRedis: true, approvalCount: 1_000 },
];

for (const { name, approvalCount, ...state } of states) {
  t.test(name, async (t) => {
    const fleet = await startFleet(t, { ...state, config });
    if (!fleet) return;
    await t.test('limits and counters', (t) => exactness(t, fleet));
    await t.test('approvals', (t) => approvals(t, fleet, approvalCount));
    await t.test('what takes a right away', (t) => revocation(t, fleet));
  });
}

// By the scripts of a Redis, and with the counters that the contract tries on a Cluster.
t.test('two daemons on a Redis Cluster', async (t) => {
  const fleet = await startFleet(t, { daemons: 2, isOnRedis: false, isOnCluster: true, config });
  if (fleet) await approvals(t, fleet, 100);
});
