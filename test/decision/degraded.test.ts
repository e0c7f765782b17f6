import t from 'tap';
import { agentId, openStage } from './admit-stage.ts';

t.test(
  'while the state is away a known key goes on where its tenant is open, and is not counted',
  async (t) => {
    const { run, leave } = await openStage(t, { on_failure: 'open' });
    t.match(await run(), { isDegraded: false, outcome: 'call', identity: { agentId } });
    leave();
    t.match(await run(), {
      isDegraded: true,
      outcome: 'refused',
      history: { isNewDestination: true },
      identity: { agentId },
    });
    await t.rejects(run({ clientAddress: '192.0.2.1' }), { code: 'IP_NOT_ALLOWED' }, 'its allowlist holds');
    await t.rejects(run({ claimed: { envName: 'other' } }), { code: 'CROSS_ENVIRONMENT' });
    const another = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7cff';
    await t.rejects(
      run({ claimed: { agentId: another } }),
      { code: 'STATE_UNAVAILABLE' },
      'nobody knows that agent',
    );
  },
);

t.test('while the state is away a tenant that is closed is refused', async (t) => {
  const { run, leave } = await openStage(t, { on_failure: 'closed' });
  leave();
  await t.rejects(run(), { code: 'STATE_UNAVAILABLE', extra: { retryAfterSeconds: 1 } });
});

t.test('while the state is away the body limit of a tenant holds', async (t) => {
  const body = Buffer.alloc(1025);
  const limits = { max_body_bytes: 1024 };
  const open = await openStage(t, { on_failure: 'open', limits });
  open.leave();
  await t.rejects(open.run({ body }), { code: 'PAYLOAD_TOO_LARGE' });
  const closed = await openStage(t, { on_failure: 'closed', limits });
  closed.leave();
  await t.rejects(closed.run({ body }), { code: 'STATE_UNAVAILABLE' });
});

t.test('while the state is away a suspension that was known holds', async (t) => {
  const { store, run, leave } = await openStage(t, { on_failure: 'open' });
  await run();
  const event = {
    tenantId: 'acme',
    atMs: 0,
    kind: 'tenant.suspended',
    operator: 'test',
    subject: 'acme',
    details: {},
  };
  await store.suspendTenant({ tenantId: 'acme', sinceMs: 0, by: 'test', note: null }, event);
  leave();
  t.match(await run(), { isDegraded: true, agentStatus: 'tenant-suspended' });
});
