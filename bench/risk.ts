import { validateConfig } from '../src/config/load.ts';
import type { TenantConfig } from '../src/config/schema.ts';
import type { InspectedCall } from '../src/core/call.ts';
import { noHabits, type SensitiveRead } from '../src/core/history.ts';
import { newTraceId } from '../src/core/ids.ts';
import { assessRiskStage } from '../src/decision/stages/assess-risk.ts';
import { signalEngines } from '../src/risk/signals/index.ts';
import { defaultWeights } from '../src/risk/signals/score.ts';
import { createSightingLog } from '../src/state/rules/sightings.ts';
import { type CallParts, callOf } from '../test/support/call.ts';
import { noticing, tenantSecrets } from '../test/support/noticing.ts';

/*
 * What the risk stage costs beyond the round trip to the state (goal: 40 us a call): of a clean call, of one with all that a baseline can
 * say, of one with credentials, and of writes to the outside while answers are remembered. Run: node bench/risk.ts
 */

const nowMs = Date.UTC(2026, 10, 22, 3);
const config = validateConfig(
  { tenants: [{ id: 'bench', org_domains: ['acme.com'] }] },
  { file: undefined, env: {} },
);
const tenant = config.tenants.get('bench') ?? config.defaultTenant('bench');
const stage = assessRiskStage({
  engines: signalEngines,
  weights: defaultWeights,
  bounds: config.risk.bands,
  findThreats: () => [],
  ...noticing,
});

const identity = {
  keyId: 'k',
  keyPrefix: 'iv_live_0000',
  tenantId: 'bench',
  envName: 'default',
  agentId: 'a',
  agentName: 'bench',
  ownAgent: { agentId: 'a', name: 'bench', runtimeType: null },
  permissions: new Set<string>(),
};

function textOf(bytes: number, seed: number): string {
  let text = '';
  for (let i = seed; text.length < bytes; i = (i * 1103515245 + 12345) & 0x7fffffff)
    text += `${(i >> 8).toString(36)} of the ${(i >> 16).toString(36)}, `;
  return text.slice(0, bytes);
}

/** What a busy tenant remembers: answers of 8 KB. */
const sightings = createSightingLog();
for (let at = 0; at < 100; at++) {
  const read: SensitiveRead = {
    kind: 'read',
    atMs: nowMs - 1000,
    agentId: 'a',
    traceId: newTraceId(at),
    host: 'crm.acme.com',
    classes: ['PII'],
    shingles: tenantSecrets.shingler('bench').ofRead([Buffer.from(textOf(8192, at))]),
  };
  sightings.add(read);
}

const callWith = (body: Buffer, fields: CallParts = {}): InspectedCall<TenantConfig> =>
  callOf({
    ...{ tenant, traceId: newTraceId(nowMs), entrance: 'forward', receivedAtMs: nowMs, key: undefined },
    ...{ url: 'https://api.example.net/v1/x', body, contentType: 'application/json', bodyTexts: [body] },
    ...{ identity, ...fields },
  });

const habits = {
  ...noHabits,
  calls: 5000,
  firstMs: 1,
  sized: 5000,
  sizeSum: 5000 * 60,
  sizeSquares: 5000 * 3600,
  windows: 200,
  windowCalls: 5000,
  lately: 500,
};
const secret = {
  class: 'SECRETS',
  kind: 'github-token',
  confidence: 'high',
  location: 'body:$.a',
  part: 'body',
  start: 10,
  end: 50,
  atHome: false,
  vendorHosts: ['api.github.com'],
} as const;
const body = Buffer.from(textOf(2048, 1_000_003));
const large = Buffer.from(textOf(65_536, 1_000_003));
const quote = Buffer.concat([body.subarray(0, 1024), Buffer.from(textOf(8192, 7).slice(4000, 5024))]);

const cases: Readonly<Record<string, () => InspectedCall<TenantConfig>>> = {
  'clean, 2 KB': () => callWith(body),
  'unusual in every way': () =>
    callWith(large, { habits, isNewHost: true, isNewDestination: true, trustScore: 0.4 }),
  'three credentials': () =>
    callWith(body, {
      findings: [secret, { ...secret, start: 60, end: 99 }, { ...secret, start: 160, end: 199 }],
    }),
  'a write outside, 2 KB, 100 answers remembered': () => callWith(body, { sightings }),
  'the same with a quote of 1 KB': () => callWith(quote, { sightings }),
  'a write outside, 64 KB, 100 answers remembered': () => callWith(large, { sightings }),
};

const rounds = 30;
const callsPerRound = 200;
for (const [name, make] of Object.entries(cases)) {
  let best = Number.POSITIVE_INFINITY;
  let signals = '';
  for (let round = 0; round < rounds; round++) {
    const calls = Array.from({ length: callsPerRound }, make);
    const began = performance.now();
    const assessed = calls.map((call) => stage.run(call));
    best = Math.min(best, ((performance.now() - began) * 1000) / callsPerRound);
    signals = assessed[0]?.signals.map((it) => it.name).join(', ') ?? '';
  }
  console.log(`${name.padEnd(48)} ${best.toFixed(2).padStart(8)} us  ${signals}`);
}
