// What a call costs, stage by stage, in microseconds: the stages of the gateway over real detectors, tools, and 50 policies, with the
// embedded state in memory and no network. `node bench/pipeline.ts`
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validateConfig } from '../src/config/load.ts';
import { type DecidedCall, noHead, type ReceivedCall, receivedCall } from '../src/core/call.ts';
import { newTraceId } from '../src/core/ids.ts';
import { ownName } from '../src/core/safe-name.ts';
import { targetWithin } from '../src/core/target.ts';
import { CredentialHomes } from '../src/credentials/credential-homes.ts';
import { ApprovalDesk } from '../src/decision/approvals/approval-desk.ts';
import { createStages } from '../src/decision/stages.ts';
import { traceLine } from '../src/decision/trace/trace-line.ts';
import { createEngine } from '../src/inspect/match/engine.ts';
import { loadDetectors } from '../src/inspect/patterns/load.ts';
import { validatePolicy } from '../src/policy/index.ts';
import { signalEngines } from '../src/risk/signals/index.ts';
import { defaultWeights } from '../src/risk/signals/score.ts';
import { openEmbeddedStore } from '../src/state/embedded/store.ts';
import { liveKey } from '../src/state/rules/live-key.ts';
import { defaultTrustTerms } from '../src/state/rules/trust.ts';
import { createCatalogues, ownTables } from '../src/tenants/catalogues.ts';
import { createPolicyBook } from '../src/tenants/policy-book.ts';
import { createTenants } from '../src/tenants/tenants.ts';
import { createToolSettings } from '../src/tenants/tool-settings.ts';
import { injections } from '../test/support/injections.ts';
import { meanings } from '../test/support/meanings.ts';
import { noticing, tenantSecrets } from '../test/support/noticing.ts';

const agentId = '5b0c7f0e-0000-4000-8000-000000000001';
const dir = mkdtempSync(join(tmpdir(), 'postern-bench-'));
const store = await openEmbeddedStore({ dir });
const config = validateConfig(
  {
    tenants: [{ id: 'bench', plan: 'enterprise' }],
    agents: [{ id: agentId, tenant: 'bench', name: 'bench' }],
  },
  { file: undefined, env: {} },
);
const audit = { tenantId: 'bench', atMs: 0, kind: 'bench', operator: 'bench', subject: 'bench', details: {} };
await store.ensureAgent({
  agentId,
  tenantId: 'bench',
  envName: 'default',
  name: 'bench',
  runtimeType: null,
  status: 'active',
  createdAtMs: 0,
});
await store.addKey(
  liveKey({
    keyId: agentId,
    hash: '00'.repeat(32),
    prefix: 'iv_live_0000',
    tenantId: 'bench',
    envName: 'default',
    agentId,
    name: 'bench',
    permissions: ['scan'],
    createdAtMs: 0,
  }),
  audit,
);

/** Evaluated by every call, deciding none. */
const policies = Array.from({ length: 50 }, (_, n) => {
  const result = validatePolicy(
    {
      name: `bench-${n}`,
      rules: [
        {
          rule_id: 'a',
          match: { tool_names: ['github', 'slack'], verbs: ['WRITE'] },
          condition: { has_data_class: ['SECRETS'] },
          action: 'DENY',
        },
        {
          rule_id: 'b',
          match: {},
          condition: { body_contains_any: [`drop table orders_${n}`, `project nightfall ${n}`] },
          action: 'DENY',
        },
        {
          rule_id: 'c',
          match: { methods: ['POST'], url_patterns: [`https://*.partner-${n}.example/*`] },
          condition: {},
          action: 'DENY',
        },
        {
          rule_id: 'd',
          match: { methods: ['POST'] },
          condition: { body_path_gt: { path: '$.amount', value: 1000 } },
          action: 'DENY',
        },
      ],
    },
    {},
  );
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.policy;
});

const tenants = createTenants(config, new Set(), store);
const engine = createEngine(loadDetectors(new URL('../config/detectors', import.meta.url).pathname));
const stages = createStages({
  catalogues: createCatalogues(config, ownTables()),
  store,
  tenants,
  toolSettings: createToolSettings([]),
  clock: () => performance.now(),
  injections,
  meanings,
  engines: signalEngines,
  weights: defaultWeights,
  bounds: config.risk.bands,
  policies: createPolicyBook(store, policies, () => engine),
  approvals: new ApprovalDesk(store),
  events: { tellUsage: () => undefined },
  findThreats: () => [],
  ...noticing,
  homes: new CredentialHomes(store, tenantSecrets),
  trust: defaultTrustTerms,
  mode: 'enforce',
  isRetired: () => false,
});

const words =
  'model assistant please summarise the quarterly report and list open issues for every team with their owners due dates'.split(
    ' ',
  );
function bodyOf(bytes: number): Buffer {
  let text = '{"model":"gpt-x","max_tokens":1024,"messages":[{"role":"user","content":"';
  for (let i = 12345; text.length < bytes - 20; i = (i * 1103515245 + 12345) & 0x7fffffff)
    text += `${words[(i >> 16) % words.length]} `;
  return Buffer.from(`${text}"}]}`);
}

function callOf(body: Buffer): ReceivedCall {
  return receivedCall({
    traceId: newTraceId(1),
    entrance: 'forward',
    receivedAtMs: 1,
    clientAddress: '127.0.0.1',
    key: { prefix: 'iv_live_0000', hash: '00'.repeat(32) },
    method: 'POST',
    target: targetWithin('https', 'localhost', 18443, '/v1/x'),
    headers: [
      'Host',
      'localhost:18443',
      'User-Agent',
      'bench',
      'Content-Type',
      'application/json',
      'Content-Length',
      String(body.length),
    ],
    body,
    contentType: 'application/json',
    contentEncoding: '',
    claimed: {},
    lastHead,
  });
}

/** As on a kept connection. */
const lastHead = noHead();
// As after the first call: what it touches is known.
store.noteCall({
  traceId: newTraceId(1),
  tenantId: 'bench',
  agentId,
  keyId: agentId,
  atMs: 1,
  decision: 'ALLOW',
  outcome: 'call',
  destination: ownName('host:localhost'),
  names: ['at:localhost', 'tool:custom_proxy', 'does:custom_proxy http_post'].map(ownName),
  line: ownName('{}'),
});

const rounds = 9;
const callsPerRound = 2000;
const now = (): number => performance.now() * 1000;

for (const bytes of [2048, 65_536]) {
  const body = bodyOf(bytes);
  const best = new Map<string, number>();
  const note = (name: string, us: number): void =>
    void best.set(name, Math.min(best.get(name) ?? Infinity, us));
  for (let round = 0; round < rounds; round++) {
    let calls: object[] = Array.from({ length: callsPerRound }, () => callOf(body));
    let whole = 0;
    for (const stage of stages.all) {
      const began = now();
      calls = await Promise.all(calls.map((call) => stage.run(call as never)));
      const us = (now() - began) / callsPerRound;
      note(stage.name, us);
      whole += us;
    }
    const began = now();
    for (const call of calls) traceLine(call as DecidedCall, undefined);
    const us = (now() - began) / callsPerRound;
    note('trace line', us);
    note('together', whole + us);
  }
  console.log(`\n${bytes} bytes`);
  for (const [name, us] of best) console.log(`${name.padEnd(12)} ${us.toFixed(2).padStart(8)} us`);
}
await store.close();
rmSync(dir, { recursive: true });
