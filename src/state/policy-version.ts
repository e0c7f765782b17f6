import { toCanonicalJson } from './canonical-json.ts';
import { checkBounds } from './policy-bounds.ts';
import type { AuditEvent, PolicyApply, PolicyRecord } from './store.ts';

/**
 * The version that follows, of a tenant with these latest ones. Throws VALIDATION_FAILED where its policies would pass a bound
 * (`policy-bounds.ts`).
 */
export function nextVersion(apply: PolicyApply, latest: readonly PolicyRecord[]): PolicyRecord {
  const before = latest.find((it) => it.name === apply.name && it.envName === apply.envName);
  const others = latest.filter((it) => it !== before);
  checkBounds(apply, before, others);
  return {
    ...apply,
    policyId: before?.policyId ?? apply.policyId,
    version: (before?.version ?? 0) + 1,
    unchanged: before !== undefined && contentOf(before) === contentOf(apply),
  };
}

export const withVersion = (event: AuditEvent, { version, unchanged }: PolicyRecord): AuditEvent => ({
  ...event,
  details: { ...event.details, version, unchanged },
});

const contentOf = ({ description, rules, mode }: PolicyApply): string =>
  toCanonicalJson({ description, rules, mode });
