import type { TenantConfig } from '../../config/schema.ts';
import type { Call, Verdict } from '../../core/call.ts';
import type { CredentialHomes } from '../../credentials/credential-homes.ts';
import { withCuts } from '../../inspect/parts/sanitize.ts';
import type { PolicySet } from '../../policy/index.ts';
import { bandOf } from '../../risk/signals/score.ts';
import type { AdmissionPreview } from '../../state/store.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import type { TenantRules } from '../../tenants/policy-book.ts';
import { type GivenFacts, withGiven } from '../facts/given-facts.ts';
import { createJudge, type Judge } from '../judge.ts';
import type { OpenCall } from '../open-call.ts';
import { toVerdict } from '../opinion.ts';
import { type ReadOptions, read } from '../stages/read.ts';
import { understandCall } from '../stages/understand.ts';
import { assessRiskStage, type WeighOptions } from '../stages/weigh.ts';

/*
 * What would become of a call, found out by the stages that judge live calls: understand, read, weigh, and the judgement of the decision.
 * Only admission and the consequences are left out, so nothing is counted, recorded, held or opened, and what people have said of an
 * identical call plays no part: what must be held is REQUIRE_APPROVAL.
 */

export interface SimulatorOptions extends WeighOptions, Omit<ReadOptions, 'policies' | 'tenants'> {
  readonly catalogues: Catalogues;
  readonly open?: OpenCall;
  /** The daemon's own mode. */
  readonly mode: 'enforce' | 'monitor';
  readonly homes: Pick<CredentialHomes, 'mark'>;
}

/** The conditions under which a call is judged. */
export interface Ground {
  readonly tenant: TenantConfig;
  /** Reads the call; other rules may judge it then. */
  readonly page: TenantRules;
  readonly given: GivenFacts;
  /** The state's knowledge of the call, without taking anything. */
  standingOf(call: Call): Promise<SimulatedStanding>;
}

export interface Simulator extends SimulatorOptions {
  /** Judges a call whose body is read already, or was never there. */
  readonly judge: Judge;
  /**
   * Reads a call whose identity is set, once, and answers what each set of rules makes of it. Changes nothing but the call. Bounded by
   * the tenant's bounds on reading.
   */
  run(call: Call, ground: Ground, sets: readonly PolicySet[]): Promise<Verdict[]>;
}

export interface SimulatedStanding extends AdmissionPreview {
  /** In the agent, 0 to 1. */
  readonly trustScore: number;
}

/** A caller without history, and without used budgets: the standing where there is no state. */
export const noStanding: SimulatedStanding = {
  isNewDestination: false,
  exceededBudgets: [],
  trustScore: 1,
};

export function createSimulator(options: SimulatorOptions): Simulator {
  const judge = createJudge(options.mode);
  const weighs = assessRiskStage(options);

  async function prepare(call: Call, { tenant, page, given, standingOf }: Ground): Promise<void> {
    await options.open?.(call);
    if (!call.operation) understandCall(options.catalogues.of(tenant.id), call, tenant.maxDecodedBytes);
    const standing = await standingOf(call);
    call.isNewDestination = given.is_new_destination ?? standing.isNewDestination;
    call.exceededBudgets = standing.exceededBudgets;
    call.trustScore = given.trust_score ?? standing.trustScore;
    if (given.agent_status !== undefined) call.agentStatus = given.agent_status;
    const policies = { rulesFor: () => page, lastKnown: () => page };
    await read({ ...options, policies, tenants: { find: () => tenant } }).run(call);
    await options.homes.mark(call);
    await weighs.run(call);
    if (given.risk_score === undefined) return;
    call.riskScore = given.risk_score;
    call.riskBand = bandOf(given.risk_score, options.bounds);
  }

  return {
    ...options,
    judge,
    async run(call, ground, sets) {
      const { tenant, given } = ground;
      await prepare(call, ground);
      return withCuts(() =>
        sets.map((rules) =>
          toVerdict(call, judge(call, tenant, rules, (facts) => withGiven(facts, given)).opinion),
        ),
      );
    },
  };
}
