import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import { GatewayError } from '../../src/errors.ts';
import { admit } from '../../src/pipeline/stages/admit.ts';
import { createTenants } from '../../src/pipeline/tenants.ts';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import type { KeyRecord, Store } from '../../src/state/store.ts';
import { callOf } from '../support/call.ts';

const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12';
const hash = '00'.repeat(32);
const nowMs = Date.UTC(2026, 2, 4);

const key: KeyRecord = {
  keyId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  hash,
  prefix: 'iv_live_abcd',
  type: 'live',
  tenantId: 'acme',
  envName: 'default',
  envNames: [],
  agentId,
  name: 'test',
  description: null,
  permissions: ['scan'],
  ipAllowlist: ['127.0.0.0/8'],
  createdAtMs: 0,
  expiresAtMs: null,
  revokedAtMs: null,
  revokedBy: null,
  perMinute: null,
  requireNonce: false,
  parentKeyId: null,
  maxUses: null,
  scope: null,
  isFromConfig: false,
};

/** The stage over a state that can go away, and that knows the key from a moment ago. */
async function openStage(t: Test, onFailure: 'open' | 'closed') {
  const dir = mkdtempSync(join(tmpdir(), 'postern-degraded-'));
  const embedded = await openEmbeddedStore({ dir });
  t.teardown(async () => {
    await embedded.close();
    rmSync(dir, { recursive: true });
  });
  const identity = { tenantId: 'acme', envName: 'default', agentId };
  await embedded.ensureAgent({
    ...identity,
    name: 'bot',
    runtimeType: null,
    status: 'active',
    createdAtMs: 0,
  });
  const audit = {
    tenantId: 'acme',
    atMs: 0,
    kind: 'key.created',
    operator: 'test',
    subject: '',
    details: {},
  };
  await embedded.addKey(key, audit);
  const known = await embedded.identify(hash, nowMs);
  let isAway = false;
  const store: Store = {
    ...embedded,
    admit(request) {
      if (isAway) throw new GatewayError('STATE_UNAVAILABLE', 'away', { retryAfterSeconds: 1 });
      return embedded.admit(request);
    },
    recall: () => known,
  };
  const config = validateConfig(
    { tenants: [{ id: 'acme', plan: 'free', on_failure: onFailure }] },
    { file: undefined, env: {} },
  );
  const tenants = createTenants(config, new Set(), store);
  const stage = admit({ store, tenants, events: { tell: () => undefined } });
  const run = async (fields: Parameters<typeof callOf>[0] = {}) => {
    const call = callOf({ receivedAtMs: nowMs, key: { prefix: 'iv_live_abcd', hash }, ...fields });
    call.operation = {
      toolName: 'custom_proxy',
      name: 'http_post',
      category: 'http',
      verb: 'WRITE',
      resource: {},
      principals: [],
    };
    call.destination = 'host:api.test.example';
    await stage.run(call);
    return call;
  };
  const leave = (): void => {
    isAway = true;
  };
  return { run, leave };
}

t.test(
  'while the state is away a known key goes on where its tenant is open, and is not counted',
  async (t) => {
    const { run, leave } = await openStage(t, 'open');
    t.match(await run(), { isDegraded: false, outcome: 'call', identity: { agentId } });
    leave();
    t.match(await run(), {
      isDegraded: true,
      outcome: 'refused',
      isNewDestination: true,
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
  const { run, leave } = await openStage(t, 'closed');
  leave();
  await t.rejects(run(), { code: 'STATE_UNAVAILABLE', extra: { retryAfterSeconds: 1 } });
});
