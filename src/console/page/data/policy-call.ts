import type { ListedPolicy, Simulation } from '../../../api/answers.ts';
import { call, post } from './api.ts';

/* Asks the API about policies, for several pages. */

export interface PolicyText {
  readonly name: string;
  readonly description?: string;
  readonly env_name?: string | null;
  readonly mode?: 'enforce' | 'monitor';
  readonly rules: readonly Readonly<Record<string, unknown>>[];
}

export const policyTextOf = (it: ListedPolicy): PolicyText => ({
  name: it.name,
  description: it.description,
  env_name: it.env_name,
  mode: it.mode,
  rules: it.rules as PolicyText['rules'],
});

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
