import fc from 'fast-check';
import type { Decision } from '../../../src/core/call.ts';
import type { TrustMark } from '../../../src/core/history.ts';
import { newTraceId } from '../../../src/core/ids.ts';
import { wasLetOut } from '../../../src/state/rules/destinations.ts';
import { addCalls, noSums } from '../../../src/state/rules/habits.ts';
import {
  type Bucket,
  type LimitRefusal,
  limitsOf,
  refusalOf,
  type Taking,
  withoutToken,
} from '../../../src/state/rules/limits.ts';
import {
  afterCalls,
  afterMark,
  defaultTrustTerms,
  marksText,
  wholeTrust,
} from '../../../src/state/rules/trust.ts';
import type { KeyRecord, RecordedCall, TenantTerms } from '../../../src/state/store.ts';
import {
  admitRequest,
  agentRecord,
  auditEvent,
  callBatch,
  keyRecord,
  pastMs,
  recordedCall,
} from '../records.ts';
import type { Agreement, CaseNames, Sides, Taker } from './agreement.ts';

/* Lua beside the pure rule that it repeats: the same steps must answer the same and leave the same in Redis. */

async function fieldsOf({ client }: Sides, key: string): Promise<Readonly<Record<string, string>>> {
  const flat = (await client.call('HGETALL', key)) as string[];
  return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [])));
}

const limit = fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 8 }));
const terms: fc.Arbitrary<TenantTerms> = fc.record({
  ...{ scansPerMonth: limit, scansPerMinute: limit, burst: limit, perKeyScansPerMinute: limit },
  overage: fc.boolean(),
});
const takings = fc.record({
  counts: fc.constantFrom<Exclude<Taking, 'nothing'>[]>('call', 'call', 'call', 'rate'),
  terms: fc.constantFrom(0, 0, 0, 1),
  plans: fc.tuple(terms, terms),
});
type TakingStep = typeof takings extends fc.Arbitrary<infer T> ? T : never;

function limitedKey({ tenantId, id }: CaseNames): KeyRecord {
  const hash = id(1).replaceAll('-', '').repeat(2);
  return keyRecord({ ...{ tenantId, agentId: id(0), keyId: id(1), hash, maxUses: 12 }, perMinute: 5 });
}

const planOf = ({ plans, terms: nth }: TakingStep): TenantTerms => plans[nth === 0 ? 0 : 1];
const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

function limitsByRule(names: CaseNames): Taker<TakingStep> {
  const key = limitedKey(names);
  const months = new Map<string, number>();
  let [tenantBucket, keyBucket]: (Bucket | undefined)[] = [];
  let uses = 0;
  const take = (step: TakingStep, nowMs: number): LimitRefusal | number => {
    const inMonth = months.get(monthOf(nowMs)) ?? 0;
    const limits = limitsOf(key, planOf(step));
    const refusal = refusalOf({ inMonth, uses, tenantBucket, keyBucket }, limits, step.counts, nowMs);
    if (refusal) return refusal;
    if (limits.tenantRate) tenantBucket = withoutToken(tenantBucket, limits.tenantRate, nowMs);
    if (limits.keyRate) keyBucket = withoutToken(keyBucket, limits.keyRate, nowMs);
    if (step.counts === 'rate') return inMonth;
    uses += 1;
    months.set(monthOf(nowMs), inMonth + 1);
    return inMonth + 1;
  };
  const bucketOf = (it: Bucket | undefined) => it && [String(it.level), String(it.atMs)];
  return (step, nowMs) => [
    take(step, nowMs),
    { tenant: bucketOf(tenantBucket), key: bucketOf(keyBucket), uses: String(uses) },
  ];
}

async function limitsByLua(sides: Sides, names: CaseNames): Promise<Taker<TakingStep>> {
  const { tenantId, id } = names;
  const key = limitedKey(names);
  await sides.redis.ensureAgent(agentRecord({ tenantId, agentId: id(0) }));
  await sides.redis.addKey(key, auditEvent({ tenantId }));
  const own = sides.names.of(tenantId);
  const bucketOf = ({ level, at }: Readonly<Record<string, string>>) =>
    level === undefined ? undefined : [level, at];
  return async (step, nowMs) => {
    const { counts } = step;
    const termsOf = () => planOf(step);
    const answer = await sides.redis.admit(admitRequest({ keyHash: key.hash, nowMs, counts, termsOf }));
    const { identity: _, ...refusal } = { ...answer, identity: undefined };
    const tenant = await fieldsOf(sides, own.numbers);
    const ofKey = await fieldsOf(sides, own.keyNumbers(key.keyId));
    return [
      answer.ok ? answer.scansUsed : refusal,
      { tenant: bucketOf(tenant), key: bucketOf(ofKey), uses: ofKey['uses'] ?? '0' },
    ];
  };
}

/** `refusalOf` and `withoutToken` of `limits.ts` beside `admit.lua`. */
export const storedLimits = (sides: Sides): Agreement<TakingStep> => ({
  steps: takings,
  runs: 50,
  lengthMax: 40,
  longestMs: 40 * 86_400_000,
  begin: (_, names, side) => (side === 'embedded' ? limitsByRule(names) : limitsByLua(sides, names)),
});

const decisions: Decision[] = ['ALLOW', 'ALLOW', 'SANITIZE', 'DENY', 'REQUIRE_APPROVAL'];
const mark = fc.record({
  cause: fc.constantFrom<TrustMark['cause'][]>('denial', 'analyst-denial', 'threat', 'anomaly'),
  parts: fc.oneof(fc.nat(600), fc.nat(12_000)),
  traceId: fc.constantFrom('trace', 'naïve "x"'),
});
const histories = fc.oneof(
  fc.record({
    kind: fc.constant('calls' as const),
    count: fc.integer({ min: 1, max: 30 }),
    decision: fc.constantFrom(...decisions),
    sizeClass: fc.nat(400),
    marks: fc.array(mark, { maxLength: 2, size: 'xsmall' }),
  }),
  fc.record({ kind: fc.constant('mark' as const), mark }),
);
type HistoryStep = typeof histories extends fc.Arbitrary<infer T> ? T : never;

const stringsOf = (numbers: Readonly<Record<string, number>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(numbers).map(([name, it]) => [name, String(it)]));

function historyByRule(): Taker<HistoryStep> {
  const habits = noSums();
  let trust = wholeTrust;
  let isKnown = false;
  const add = (step: Extract<HistoryStep, { kind: 'calls' }>, atMs: number): void => {
    const marks = step.marks.map((it) => ({ ...it, atMs }));
    for (let nth = 0; nth < step.count; nth += 1) {
      const isOut = wasLetOut(step);
      if (isOut) addCalls(habits, atMs, 1, step.sizeClass);
      isKnown ||= isOut;
      const calls = { firstMs: atMs, lastMs: atMs, count: 1, isClean: isOut && marks.length === 0 };
      trust = afterCalls(trust, calls, defaultTrustTerms);
      for (const it of marks) trust = afterMark(trust, it, defaultTrustTerms);
    }
  };
  return (step, nowMs) => {
    if (step.kind === 'calls') add(step, nowMs);
    else trust = afterMark(trust, { ...step.mark, atMs: nowMs }, defaultTrustTerms);
    const { hours, firstMs: first, ...sums } = habits;
    const { parts, clean, atMs: at } = trust;
    const byHour = Object.fromEntries(
      hours.flatMap((count, hour) => (count > 0 ? [[`hour${hour}`, count]] : [])),
    );
    const fields = { trust: parts, clean, at, ...(isKnown ? { ...sums, first, ...byHour } : {}) };
    return [stringsOf(fields), trust.marks.map((it) => JSON.stringify(marksText([it])[0]))];
  };
}

async function historyByLua(sides: Sides, { tenantId, id }: CaseNames): Promise<Taker<HistoryStep>> {
  const agentId = id(0);
  const { redis, client } = sides;
  await redis.ensureAgent(agentRecord({ tenantId, agentId }));
  const own = sides.names.of(tenantId);
  let recorded = 0;
  const callAt = (step: Extract<HistoryStep, { kind: 'calls' }>, atMs: number): RecordedCall => {
    recorded += 1;
    const { decision, sizeClass } = step;
    const traceId = id(1_000 + recorded).replace(/^.{18}/, newTraceId(pastMs).slice(0, 18));
    const marks = step.marks.map((it) => ({ ...it, atMs }));
    return recordedCall({ tenantId, agentId, traceId, atMs, decision, sizeClass, marks });
  };
  return async (step, nowMs) => {
    if (step.kind === 'mark') await redis.markTrust(tenantId, agentId, { ...step.mark, atMs: nowMs });
    else await redis.recordCalls(callBatch(Array.from({ length: step.count }, () => callAt(step, nowMs))));
    const fields = Object.entries(await fieldsOf(sides, own.history(agentId)));
    const isNothing = ([name, text]: [string, string]) => name.startsWith('hour') && text === '0';
    return [
      Object.fromEntries(fields.filter((it) => !isNothing(it))),
      await client.call('LRANGE', own.marks(agentId), 0, -1),
    ];
  };
}

/** `habits.ts` and `trust.ts` beside `history.lua`. */
export const storedHistory = (sides: Sides): Agreement<HistoryStep> => ({
  steps: histories,
  runs: 50,
  longestMs: 100 * 3_600_000,
  begin: (_, names, side) => (side === 'embedded' ? historyByRule() : historyByLua(sides, names)),
});
