import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import { ClassifiedCall } from '../../src/core/call.ts';
import { GatewayError, toGatewayError } from '../../src/core/errors.ts';
import { RefusedCall } from '../../src/decision/pipeline.ts';
import { admit } from '../../src/decision/stages/admit.ts';
import { openEmbeddedStore } from '../../src/state/embedded/store.ts';
import { liveKey } from '../../src/state/rules/live-key.ts';
import { defaultTrustTerms } from '../../src/state/rules/trust.ts';
import type { AgentRecord, Store } from '../../src/state/store.ts';
import { createCatalogues, ownTables } from '../../src/tenants/catalogues.ts';
import { createPolicyBook } from '../../src/tenants/policy-book.ts';
import { createTenants } from '../../src/tenants/tenants.ts';
import { createToolSettings } from '../../src/tenants/tool-settings.ts';
import { callOf, operationOf } from '../support/call.ts';
import { engine } from '../support/detectors.ts';

/* The stage `admit` over an embedded state that can go away and that knows one key of one agent. */

export const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12';
export const hash = '00'.repeat(32);
export const nowMs = Date.UTC(2026, 2, 4);

const bot: AgentRecord = {
  agentId,
  tenantId: 'acme',
  envName: 'default',
  name: 'bot',
  runtimeType: null,
  status: 'active',
  createdAtMs: 0,
};

export const key = liveKey({
  keyId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  hash,
  prefix: 'iv_live_abcd',
  tenantId: 'acme',
  envName: 'default',
  agentId,
  name: 'test',
  permissions: ['scan'],
  ipAllowlist: ['127.0.0.0/8'],
  createdAtMs: 0,
});

/** An embedded state in a folder of its own. */
export async function openState(t: Test): Promise<Store> {
  const dir = mkdtempSync(join(tmpdir(), 'postern-pipeline-'));
  const store = await openEmbeddedStore({ dir });
  t.teardown(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });
  return store;
}

/** `acme` is the only tenant that is written down, with these settings. */
export async function openStage(t: Test, acme: Readonly<Record<string, unknown>>) {
  const state = await openState(t);
  await state.ensureAgent(bot);
  const created = { atMs: 0, kind: 'key.created', operator: 'test', subject: '', details: {} };
  await state.addKey(key, { tenantId: 'acme', ...created });
  // Seen a moment ago, so that it is known while the state is away.
  const known = await state.identify(hash, nowMs);
  if (!known.ok) throw new Error(known.detail);
  let isAway = false;
  const failAway = (): void => {
    if (isAway) throw new GatewayError('STATE_UNAVAILABLE', 'away', { retryAfterSeconds: 1 });
  };
  const store: Store = {
    ...state,
    admit(request) {
      failAway();
      return state.admit(request);
    },
    identify(keyHash, atMs) {
      failAway();
      return state.identify(keyHash, atMs);
    },
  };
  const config = validateConfig({ tenants: [{ id: 'acme', ...acme }] }, { file: undefined, env: {} });
  const tenants = createTenants(config, new Set(), store);
  const policies = createPolicyBook({ policiesOf: () => [] }, [], () => engine);
  const stage = admit({
    store,
    tenants,
    policies,
    events: { tellUsage: () => undefined },
    catalogues: createCatalogues(config, ownTables()),
    toolSettings: createToolSettings([]),
    trust: defaultTrustTerms,
  });
  /** Answers how far the call came, and why it came no further. */
  const attempt = async (fields: Parameters<typeof callOf>[0] = {}) => {
    const { received } = callOf({ receivedAtMs: nowMs, key: { prefix: 'iv_live_abcd', hash }, ...fields });
    const call = new ClassifiedCall(received, operationOf(), 'host:api.test.example');
    try {
      const admitted = await stage.run(call);
      return admitted instanceof RefusedCall
        ? { reached: admitted.reached, refusal: admitted.error }
        : { reached: admitted, admitted };
    } catch (error) {
      return { reached: call, refusal: toGatewayError(error) };
    }
  };
  const run = async (fields: Parameters<typeof callOf>[0] = {}) => {
    const { admitted, refusal } = await attempt(fields);
    if (!admitted) throw refusal;
    const { traceId, destination, admission } = admitted;
    return { traceId, destination, ...admission };
  };
  const leave = (): void => {
    isAway = true;
  };
  return { store: state, attempt, run, leave };
}
