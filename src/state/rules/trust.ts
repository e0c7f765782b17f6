import type { TrustMark } from '../../core/history.ts';
import type { TrustRecord, TrustTerms } from '../store.ts';
import { hourMs } from './limits.ts';

/*
 * Computes an agent's trust, in the same way for every driver: `history.lua` takes the same steps, in whole
 * numbers.
 */

export const trustPartsMax = 10_000;
/** The limit of an agent's marks that are kept and shown. */
export const marksMax = 32;
/**
 * The limit of anomalies that count against an agent in a day. So unusual calls alone do not use up its
 * trust.
 */
export const anomaliesMax = 5;
const dayMs = 24 * hourMs;

/** How trust comes back until the configuration says something else. */
export const defaultTrustTerms: TrustTerms = Object.freeze({ parts: 100, calls: 50 });

export const wholeTrust: TrustRecord = Object.freeze({
  parts: trustPartsMax,
  clean: 0,
  atMs: 0,
  marks: Object.freeze([]),
});

/** Returns the trust at a time, in ten-thousandths: each whole hour without a call brings some back. */
export function trustPartsAt({ parts, atMs }: TrustRecord, nowMs: number, terms: TrustTerms): number {
  const idleHours = atMs === 0 ? 0 : Math.max(0, Math.floor((nowMs - atMs) / hourMs));
  return Math.min(trustPartsMax, parts + idleHours * terms.parts);
}

/**
 * Returns the trust after calls that came within minutes. `isClean` says that they were let out and nothing
 * counts against them.
 */
export function afterCalls(
  trust: TrustRecord,
  calls: {
    readonly firstMs: number;
    readonly lastMs: number;
    readonly count: number;
    readonly isClean: boolean;
  },
  terms: TrustTerms,
): TrustRecord {
  const clean = calls.isClean ? trust.clean + calls.count : trust.clean;
  const runs = Math.floor(clean / terms.calls);
  return {
    ...trust,
    parts: Math.min(trustPartsMax, trustPartsAt(trust, calls.firstMs, terms) + runs * terms.parts),
    clean: clean - runs * terms.calls,
    atMs: Math.max(trust.atMs, calls.lastMs),
  };
}

/**
 * Returns the trust after a mark. Idle hours before it bring trust back first, at most to the full, so they
 * do not offset it. A day's surplus anomaly changes nothing.
 */
export function afterMark(trust: TrustRecord, mark: TrustMark, terms: TrustTerms): TrustRecord {
  if (isOneTooMany(trust.marks, mark)) return trust;
  const parts = Math.max(0, trustPartsAt(trust, mark.atMs, terms) - mark.parts);
  return {
    parts,
    clean: 0,
    atMs: Math.max(trust.atMs, mark.atMs),
    marks: [...trust.marks, { ...mark, leftParts: parts }].slice(-marksMax),
  };
}

interface TrustPoint {
  readonly atMs: number;
  readonly parts: number;
}

/** Returns the trust just before and just after each loss that is kept, oldest first. */
export function trustTrend(marks: readonly TrustMark[]): readonly TrustPoint[] {
  return marks.flatMap(({ atMs, parts, leftParts }): TrustPoint[] => {
    if (leftParts === undefined) return [];
    const after = { atMs, parts: leftParts };
    // If nothing was left, more may have been taken than there was.
    return leftParts === 0 ? [after] : [{ atMs, parts: Math.min(trustPartsMax, leftParts + parts) }, after];
  });
}

/** Tells whether a day's anomalies have taken all that they may, and this mark is one more. */
export function isOneTooMany(marks: readonly TrustMark[], { cause, atMs }: TrustMark): boolean {
  if (cause !== 'anomaly') return false;
  return marks.filter((it) => it.cause === 'anomaly' && atMs - it.atMs < dayMs).length >= anomaliesMax;
}

/** Returns the trust lost within the hour before `nowMs`, in ten-thousandths. */
export const lostWithinHour = (marks: readonly TrustMark[], nowMs: number): number =>
  marks.reduce((sum, { parts, atMs }) => (nowMs - atMs < hourMs ? sum + parts : sum), 0);

const causes: ReadonlySet<string> = new Set<TrustMark['cause']>([
  'denial',
  'analyst-denial',
  'threat',
  'anomaly',
]);

/** Returns the marks as a field of a journal line. */
export const marksText = (marks: readonly TrustMark[]): readonly unknown[] =>
  marks.map(({ cause, parts, atMs, traceId, leftParts }) => [
    ...[cause, parts, atMs, traceId],
    ...(leftParts === undefined ? [] : [leftParts]),
  ]);

/** Parses what `marksText` makes. Throws a `TypeError` for anything else. */
export function parseMarks(list: unknown): readonly TrustMark[] {
  if (!Array.isArray(list)) throw new TypeError('marks are a list');
  return list.map((it: unknown) => {
    const [cause, parts, atMs, traceId, leftParts] = Array.isArray(it) ? (it as unknown[]) : [];
    if (typeof cause !== 'string' || !causes.has(cause)) throw new TypeError('a mark has a cause');
    if (!isAmount(parts) || !isAmount(atMs) || typeof traceId !== 'string')
      throw new TypeError('a mark has an amount, a time and a trace');
    const mark = { cause: cause as TrustMark['cause'], parts, atMs, traceId };
    return isAmount(leftParts) ? { ...mark, leftParts } : mark;
  });
}

const isAmount = (it: unknown): it is number => Number.isSafeInteger(it) && Number(it) >= 0;
