import { get } from './api.ts';
import type { PolicyText } from './policy-call.ts';
import type { MatchedRule, Page, TraceRow } from './types.ts';

/*
 * The smallest change of policies that lets one call through. Across policies the strictest action wins, so each policy that
 * stops the call gets an exception in front of its rules; where the posture stops it, a policy of its own allows it.
 */

export interface DescribedPolicy {
  readonly policy_id: string;
  readonly name: string;
  readonly env_name: string | null;
  readonly version: number;
  readonly mode: 'enforce' | 'monitor';
  readonly rules: readonly Readonly<Record<string, unknown>>[];
  readonly source: 'api' | 'file';
  readonly description: string;
  readonly created_at: string | null;
  readonly created_by: string;
  readonly archived_at: string | null;
}

export interface Change {
  /** As it stands; undefined where the policy is new. */
  readonly before: PolicyText | undefined;
  readonly after: PolicyText;
  /** It stands in a file, which the API cannot change. */
  readonly isFile: boolean;
}

export const toText = (it: DescribedPolicy): PolicyText => ({
  name: it.name,
  description: it.description,
  env_name: it.env_name,
  mode: it.mode,
  rules: it.rules,
});

interface Stopped extends TraceRow {
  readonly matched_rules?: readonly MatchedRule[];
}

const allPolicies = (): Promise<Page<DescribedPolicy>> => get('/v1/policies', { limit: 1000 });

/** A pattern with a set in it is a glob over the whole address: without one, longer addresses would fit as well. */
function exactly(url: string): string {
  const escaped = url.replace(/[*?[\]]/g, (it) => (it === ']' ? ']' : `[${it}]`));
  const last = escaped.at(-1) ?? '';
  return last === ']' || escaped !== url ? escaped : `${escaped.slice(0, -1)}[${last}]`;
}

export async function exceptionFor(trace: Stopped): Promise<readonly Change[]> {
  const rule = {
    rule_id: `let-through-${trace.trace_id.slice(-8)}`,
    match: { agent_ids: [trace.agent_id], methods: [trace.method], url_patterns: [exactly(trace.url)] },
    action: 'ALLOW',
  };
  const stopping = new Set(
    (trace.matched_rules ?? []).filter((it) => it.action !== 'ALLOW').map((it) => it.policy_id),
  );
  const { items } = await allPolicies();
  const changes = items
    .filter((it) => stopping.has(it.policy_id))
    .map((it): Change => {
      const first = Math.min(...it.rules.map((own) => Number(own['priority'] ?? 100)));
      const after = { ...toText(it), rules: [{ ...rule, priority: first - 1 }, ...it.rules] };
      return { before: toText(it), after, isFile: it.source === 'file' };
    });
  if (changes.length > 0) return changes;
  const description = `Lets the call of trace ${trace.trace_id} through`;
  return [{ before: undefined, after: { name: rule.rule_id, description, rules: [rule] }, isFile: false }];
}
