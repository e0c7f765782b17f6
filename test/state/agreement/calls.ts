import fc from 'fast-check';
import type { Decision } from '../../../src/core/call.ts';
import { newTraceId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import type {
  Admission,
  AdmitRequest,
  KeyRecord,
  RecordedCall,
  TenantTerms,
} from '../../../src/state/store.ts';
import { agentRecord, auditEvent, callBatch, keyRecord, noonMs, pastMs, recordedCall } from '../records.ts';
import type { Agreement, CaseNames } from './agreement.ts';

const destinations = ['api.example.com', 'b.example.com', '', 'x'.repeat(300), "o' OR 1=1 --"];
const none = fc.constant(null);
const limit = fc.oneof(none, fc.integer({ min: 1, max: 6 }));

const terms: fc.Arbitrary<TenantTerms> = fc.record({
  scansPerMonth: limit,
  scansPerMinute: limit,
  burst: limit,
  perKeyScansPerMinute: limit,
  overage: fc.boolean(),
});

const decision = fc.constantFrom<Decision[]>('ALLOW', 'ALLOW', 'SANITIZE', 'DENY', 'REQUIRE_APPROVAL');
const charge = fc.record({
  name: fc.constantFrom('calls', 'tokens é'),
  amount: fc.oneof(fc.constant(0), fc.nat(3), fc.constant(2 ** 52)),
  daily: fc.integer({ min: 1, max: 5 }),
});

const asking = fc.record({
  kind: fc.constant('admit' as const),
  key: fc.nat(3),
  counts: fc.constantFrom<AdmitRequest['counts'][]>('call', 'call', 'call', 'rate'),
  terms: fc.nat(1),
  destination: fc.nat(destinations.length - 1),
  names: fc.array(fc.nat(3), { maxLength: 2 }),
  mutations: fc.constantFrom(0, 0, 1, 12),
  tool: fc.constantFrom('github', 'x y'),
  agent: fc.constantFrom('own', 'own', 'own', 'sibling', 'foreign', 'nobody'),
  env: fc.constantFrom(undefined, undefined, 'prod', 'dev', 'elsewhere'),
  address: fc.constantFrom('198.51.100.7', '198.51.100.7', '192.0.2.1', 'nonsense'),
  charges: fc.array(charge, { maxLength: 2 }),
});

const ending = fc.record({
  kind: fc.constant('end' as const),
  count: fc.integer({ min: 1, max: 6 }),
  decision,
  sizeClass: fc.nat(300),
  credential: fc.constantFrom(undefined, undefined, 'github', 'x y'),
  tool: fc.constantFrom(undefined, 'github', 'naïve "x"'),
  reasons: fc.uniqueArray(fc.constantFrom('RISK_HIGH', 'PII', 'x'), { maxLength: 3 }),
});

type Valued<A> = A extends fc.Arbitrary<infer T> ? T : never;

type Step =
  | Valued<typeof asking>
  | Valued<typeof ending>
  | { readonly kind: 'usage' | 'suspend' | 'reactivate' | 'stop' | 'resume' | 'identify' }
  | { readonly kind: 'revoke'; readonly key: number };

const steps = fc.record({
  step: fc.oneof(
    { weight: 14, arbitrary: asking },
    { weight: 4, arbitrary: ending },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constantFrom<('usage' | 'identify')[]>('usage', 'identify') }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom<('suspend' | 'reactivate' | 'stop' | 'resume')[]>(
          'suspend',
          'reactivate',
          'stop',
          'resume',
        ),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const), key: fc.nat(3) }) },
  ) as fc.Arbitrary<Step>,
  termsOf: fc.tuple(terms, terms),
});

interface Pending {
  readonly call: Partial<RecordedCall>;
}

function keysOf({ tenantId, id }: CaseNames): readonly KeyRecord[] {
  const of = { tenantId, agentId: id(0) };
  const hash = (number: number) => id(number).replaceAll('-', '').repeat(2);
  const live = keyRecord({ ...of, keyId: id(10), hash: hash(10), perMinute: 3, envNames: ['dev'] });
  return [
    live,
    keyRecord({ ...of, keyId: id(11), hash: hash(11), ipAllowlist: ['198.51.100.0/24'] }),
    keyRecord({
      ...{ ...of, keyId: id(12), hash: hash(12), type: 'ephemeral', parentKeyId: live.keyId, maxUses: 3 },
      expiresAtMs: noonMs + 7_200_000,
      scope: { tools: ['github'], verbs: null },
    }),
    keyRecord({ ...of, keyId: id(13), hash: hash(13), permissions: ['policies:read'] }),
  ];
}

/** Admission, and what is counted of calls: limits, uses, budgets, destinations, behaviour, usage, statistics. */
export const calls: Agreement<{ readonly step: Step; readonly termsOf: readonly TenantTerms[] }> = {
  steps,
  runs: 60,
  lengthMax: 30,
  async begin(store, names) {
    const { tenantId, otherTenantId, id } = names;
    const event = auditEvent({ tenantId });
    const [own, sibling, foreign, nobody] = [id(0), id(1), id(2), id(3)];
    const agentIds = { own: undefined, sibling, foreign, nobody };
    await store.ensureAgent(agentRecord({ tenantId, agentId: own }));
    await store.ensureAgent(agentRecord({ tenantId, agentId: sibling, envName: 'dev' }));
    await store.ensureAgent(agentRecord({ tenantId: otherTenantId, agentId: foreign }));
    const keys = keysOf(names);
    for (const key of keys) await store.addKey(key, event);
    const pending: Pending[] = [];
    const functions = new Map<string, AdmitRequest['termsOf']>();
    let ended = 0;

    function termsOf(given: TenantTerms): AdmitRequest['termsOf'] {
      const text = JSON.stringify(given);
      const known = functions.get(text) ?? ((asked: string) => (asked === tenantId ? given : undefined));
      functions.set(text, known);
      return known;
    }

    async function admit(step: Extract<Step, { kind: 'admit' }>, given: TenantTerms, nowMs: number) {
      const key = keys[step.key] as KeyRecord;
      const day = new Date(nowMs).toISOString().slice(0, 10);
      const charges = step.charges.map((it) => ({ ...it, day, daily: Math.max(it.daily, it.amount) }));
      const destination = destinations[step.destination] ?? '';
      const answer: Admission = await store.admit({
        keyHash: key.hash,
        nowMs,
        agentId: agentIds[step.agent],
        envName: step.env,
        clientAddress: step.address,
        destination,
        names: step.names.map((it) => `tool:${it}`),
        mutations: step.mutations,
        toolName: ownName(step.tool),
        verb: 'READ',
        counts: step.counts,
        termsOf: termsOf(given),
        chargesOf: () => charges.filter((it, at) => charges.findIndex((of) => of.name === it.name) === at),
      });
      const outcomes = { IP_NOT_ALLOWED: 'blocked', RATE_LIMITED: 'limited' } as const;
      const outcome = answer.ok ? 'call' : (outcomes[answer.code as 'RATE_LIMITED'] ?? 'refused');
      if (answer.identity && (answer.ok ? step.counts === 'call' : true))
        pending.push({
          call: {
            ...{ tenantId, keyId: key.keyId, agentId: answer.identity.agentId, atMs: nowMs, outcome },
            destination: ownName(destination),
            ...(answer.ok ? {} : { decision: 'DENY' as const }),
            ...(answer.ok && answer.newNames.length > 0 ? { names: answer.newNames.map(ownName) } : {}),
            ...(answer.ok && answer.charges.length > 0 ? { charges: answer.charges } : {}),
          },
        });
      const { sightings, ...facts } = answer.ok ? answer : { ...answer, sightings: undefined };
      return { ...facts, seen: sightings?.all };
    }

    async function end(step: Extract<Step, { kind: 'end' }>) {
      const done = pending.splice(0, step.count).map(({ call }) => {
        ended += 1;
        const traceId = id(1_000 + ended).replace(/^.{18}/, newTraceId(pastMs).slice(0, 18));
        const { tool, reasons } = step;
        const trace = {
          trace_id: traceId,
          ...(tool === undefined ? {} : { tool_name: tool }),
          ...(reasons.length === 0 ? {} : { reason_codes: reasons }),
        };
        return recordedCall({
          ...{ traceId, decision: step.decision, sizeClass: step.sizeClass },
          ...(step.credential === undefined ? {} : { credential: step.credential }),
          ...call,
          line: ownName(JSON.stringify(trace)),
        });
      });
      for (const call of done) store.noteCall(call);
      return store.recordCalls(callBatch(done));
    }

    async function usage(nowMs: number) {
      const ids = keys.map((it) => it.keyId);
      const [fromMs, beforeMs] = [noonMs - 60_000, nowMs + 60_000];
      return [
        await store.keyUsage(tenantId, ids, nowMs),
        await store.agentUsage(tenantId, [own, sibling, foreign], nowMs),
        await store.usageOf(tenantId, nowMs),
        await store.trustOf(tenantId, [own, sibling, foreign]),
        [...(await store.credentialUses(tenantId))].sort(),
        sorted(await store.callStats(tenantId, 'hour', fromMs, beforeMs)),
        sorted(await store.callStats(tenantId, 'day', fromMs, beforeMs)),
      ];
    }

    return async ({ step, termsOf: [first, second] }, nowMs) => {
      switch (step.kind) {
        case 'admit':
          return admit(step, (step.terms === 0 ? first : second) as TenantTerms, nowMs);
        case 'end':
          return end(step);
        case 'usage':
          return usage(nowMs);
        case 'identify':
          return Promise.all(keys.map((it) => store.identify(it.hash, nowMs)));
        case 'revoke':
          return store.revokeKey(tenantId, keys[step.key]?.keyId ?? '', { ...event, atMs: nowMs });
        case 'suspend':
          return store.suspendTenant({ tenantId, sinceMs: nowMs, by: 'admin', note: null }, event);
        case 'reactivate':
          return store.reactivateTenant(tenantId, event);
        default:
          return store.updateAgent(
            tenantId,
            own,
            { status: step.kind === 'stop' ? 'suspended' : 'active' },
            event,
          );
      }
    };
  },
};

/** Names in the order of the alphabet. */
const sorted = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, it) =>
    it !== null && typeof it === 'object' && !Array.isArray(it)
      ? Object.fromEntries(Object.entries(it).sort(([a], [b]) => (a < b ? -1 : 1)))
      : it,
  );
