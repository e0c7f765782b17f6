import type { CompiledInput, PolicyDocument } from '../policy/index.ts';
import { checkBounds } from '../state/rules/policy-bounds.ts';
import type { PolicyApply } from '../state/store.ts';
import { fromDocument } from '../tenants/policy-book.ts';

/*
 * Rules that are tried before they are applied. A candidate takes the place of the policy of its name and
 * environments, as it would when applied or in a changed policy file. Of two candidates for one place the
 * later one has it.
 */

/**
 * Returns the policies as they would be with the candidates. With `only`, it returns only the candidates.
 * Throws VALIDATION_FAILED where they pass a bound on what a tenant may have, because all of them are
 * compiled in one go.
 */
export function withCandidates(
  active: readonly CompiledInput[],
  candidates: readonly PolicyDocument[],
  only: boolean,
): CompiledInput[] {
  const inputs: CompiledInput[] = [];
  for (const [index, candidate] of candidates.entries()) {
    if (candidates.slice(index + 1).some((later) => samePlace(later, candidate))) continue;
    checkBounds(toApply(candidate), undefined, inputs.map(toApply));
    const standing = active.find((it) => isReplaced(it, candidate));
    inputs.push(
      fromDocument(candidate, {
        policyId: standing?.policyId ?? `candidate:${inputs.length}`,
        version: (standing?.version ?? 0) + 1,
      }),
    );
  }
  const staying = only ? [] : active.filter((it) => !candidates.some((other) => isReplaced(it, other)));
  return [...staying, ...inputs];
}

const samePlace = (a: PolicyDocument, b: PolicyDocument): boolean =>
  a.name === b.name && sameEnvironments(a.envNames, b.envNames);

const isReplaced = (active: CompiledInput, candidate: PolicyDocument): boolean =>
  active.policyName === candidate.name && sameEnvironments(active.envNames, candidate.envNames);

const sameEnvironments = (
  some: readonly string[] | undefined,
  others: readonly string[] | undefined,
): boolean => JSON.stringify(some?.toSorted()) === JSON.stringify(others?.toSorted());

/** Returns a policy in the form in which it counts towards the bounds. */
const toApply = ({ rules }: { readonly rules: readonly unknown[] }): PolicyApply => ({
  tenantId: '',
  policyId: '',
  name: '',
  envName: null,
  description: '',
  rules,
  mode: 'enforce',
  nowMs: 0,
  createdBy: '',
});
