import type { AuditEvent, Page, PolicyApply, PolicyArchive, PolicyRecord } from '../store.ts';
import { toCanonicalJson } from './canonical-json.ts';
import { notACursor } from './cursor.ts';
import { charsMax, checkBounds } from './policy-bounds.ts';

/** The versions kept of each policy; the numbers of older ones are not given again. */
export const versionsKept = 1_000;
/**
 * The size of the versions of all policies of a tenant. Those that so much was written after go, but for the
 * latest of each policy.
 */
export const versionBytesMax = 20_000_000;
/**
 * The limits of a tenant's archived policies. Beyond them, the first ones archived go with all their versions.
 */
export const archivedMax = 200;
export const archivedCharsMax = charsMax;
/** The limit of policies that one change forgets, each with up to `versionsKept` versions. */
export const forgottenMax = 4;

/** The limit of versions on a page, since a version may have a million characters. */
const versionsPerPage = 50;

export const isActive = ({ archivedAtMs }: PolicyRecord): boolean => typeof archivedAtMs !== 'number';

type Place = Pick<PolicyApply, 'name' | 'envName'>;
const at =
  (place: Place) =>
  (it: Place): boolean =>
    it.name === place.name && it.envName === place.envName;

/**
 * Returns the next version of a policy. `latest` has the tenant's latest versions, archived or not. Throws
 * VALIDATION_FAILED where the policies would pass a bound (`policy-bounds.ts`).
 */
export function nextVersion(apply: PolicyApply, latest: readonly PolicyRecord[]): PolicyRecord {
  const before = latest.find(at(apply));
  const active = before && isActive(before) ? before : undefined;
  const others = latest.filter((it) => it !== before && isActive(it));
  checkBounds(apply, active, others);
  return {
    ...apply,
    policyId: before?.policyId ?? apply.policyId,
    version: (before?.version ?? 0) + 1,
    unchanged: active !== undefined && contentOf(active) === contentOf(apply),
    archivedAtMs: null,
  };
}

export const withVersion = (event: AuditEvent, { version, unchanged }: PolicyRecord): AuditEvent => ({
  ...event,
  details: { ...event.details, version, unchanged },
});

interface Archived {
  readonly record: PolicyRecord;
  /** The archived policies that make room for it, first the last one archived. */
  readonly forgotten: readonly PolicyRecord[];
}

/**
 * Returns the archived version, and the policies that make room for it; undefined where there is nothing to
 * archive.
 */
export function archived(archive: PolicyArchive, latest: readonly PolicyRecord[]): Archived | undefined {
  const standing = latest.find(at(archive));
  if (!standing || !isActive(standing)) return undefined;
  const newestFirst = latest
    .filter((it) => !isActive(it))
    .sort((a, b) => (b.archivedAtMs ?? 0) - (a.archivedAtMs ?? 0));
  let chars = charsOf(standing);
  const forgotten = newestFirst.filter((it, nth) => {
    chars += charsOf(it);
    return nth + 1 >= archivedMax || chars > archivedCharsMax;
  });
  return {
    record: { ...standing, archivedAtMs: archive.nowMs },
    forgotten: forgotten.slice(-forgottenMax),
  };
}

const charsOf = ({ rules }: PolicyRecord): number => JSON.stringify(rules).length;

export const withArchived = (event: AuditEvent, { version }: PolicyRecord): AuditEvent => ({
  ...event,
  details: { ...event.details, version },
});

const contentOf = ({ description, rules, mode }: PolicyApply): string =>
  toCanonicalJson({ description, rules, mode });

/**
 * Returns which versions a page has: the newest `most` below `before`. Throws VALIDATION_FAILED at a wrong
 * cursor.
 */
export function versionsOn({ limit, cursor }: Page): { readonly before: number; readonly most: number } {
  const most = Math.min(limit, versionsPerPage);
  if (cursor === undefined) return { before: Number.MAX_SAFE_INTEGER, most };
  if (/^[1-9]\d{0,14}$/.test(cursor)) return { before: Number(cursor), most };
  throw notACursor();
}
