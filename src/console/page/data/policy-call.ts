import { call, post } from './api.ts';
import type { Decision } from './types.ts';

/* Asks the API about policies, for several pages. */

export interface PolicyText {
  readonly name: string;
  readonly description?: string;
  readonly env_name?: string | null;
  readonly mode?: 'enforce' | 'monitor';
  readonly rules: readonly Readonly<Record<string, unknown>>[];
}

export interface ListedPolicy {
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

export const policyTextOf = (it: ListedPolicy): PolicyText => ({
  name: it.name,
  description: it.description,
  env_name: it.env_name,
  mode: it.mode,
  rules: it.rules,
});

interface ShownOutcome {
  readonly decision: Decision;
  readonly rule_id: string | null;
}

export interface Simulation {
  readonly evaluated: number;
  readonly changed: readonly {
    readonly trace_id: string;
    readonly call?: { readonly agent_name: string | null; readonly method: string; readonly url: string };
    readonly before: ShownOutcome;
    readonly after: ShownOutcome;
  }[];
  readonly undetermined: readonly { readonly trace_id: string; readonly because: string }[];
  readonly warnings: readonly string[];
}

const dayMs = 86_400_000;
const tracesMax = 10_000;

/** Returns what the policies would have changed of the last 24 hours, of the newest 10,000 calls at most. */
export const simulate = (policies: readonly unknown[]): Promise<Simulation> =>
  post<Simulation>('/v1/policies/simulate', {
    policies,
    traces: { since: new Date(Date.now() - dayMs).toISOString(), limit: tracesMax },
  });

export interface Applied {
  readonly name: string;
  readonly version: number;
}

export const apply = (policy: unknown): Promise<Applied> => post<Applied>('/v1/policies/apply', policy);

export const archive = (name: string, env?: string | null): Promise<unknown> =>
  call('DELETE', `/v1/policies/by-name/${encodeURIComponent(name)}`, { query: { env: env ?? undefined } });
