import type { TenantConfig } from '../../config/schema.ts';
import { AdmittedCall, AssessedCall, DecidedCall, InspectedCall, plainAdmission } from '../../core/call.ts';
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
import { RefusedCall } from '../pipeline.ts';
import { type AssessOptions, assessRiskStage } from '../stages/assess-risk.ts';
import { classifyOperation } from '../stages/classify.ts';
import { type InspectOptions, inspect } from '../stages/inspect.ts';
import { toVerdict } from '../verdict.ts';
import type { SimulatedCall } from './simulated-call.ts';

/*
 * Finds out what would become of a call. It runs the stages that judge live calls: classify, inspect, assess,
 * and the judgement of the decision. Only admission and the consequences are left out, so nothing is counted,
 * recorded, held or opened. People's earlier decisions on an identical call do not count: what must be held
 * is REQUIRE_APPROVAL.
 */

interface SimulatorOptions extends AssessOptions, Omit<InspectOptions, 'policies'> {
  readonly catalogues: Catalogues;
  readonly open?: OpenCall;
  /** The mode of the daemon. */
  readonly mode: 'enforce' | 'monitor';
  readonly homes: Pick<CredentialHomes, 'mark'>;
}

/** The conditions under which a call is judged. */
export interface Ground {
  readonly tenant: TenantConfig;
  /** The rules and the engine by which the call is read. Other rules may judge it then. */
  readonly page: TenantRules;
  readonly given: GivenFacts;
  /** Returns what the state knows of the call, without taking anything. */
  standingOf(call: AdmittedCall): Promise<SimulatedStanding>;
}

export interface Simulator extends SimulatorOptions {
  /** Judges a call whose body is read already, or was never there. */
  readonly judge: Judge;
  /**
   * Reads a call once, and returns what each set of rules makes of it. It changes nothing outside. It stays
   * within the tenant's bounds on reading.
   */
  run(call: SimulatedCall, ground: Ground, sets: readonly PolicySet[]): Promise<DecidedCall[]>;
}

interface SimulatedStanding extends AdmissionPreview {
  /** The trust in the agent, 0 to 1. */
  readonly trustScore: number;
}

/** The standing where there is no state: a caller without history and without used budgets. */
export const noStanding: SimulatedStanding = {
  isNewDestination: false,
  exceededBudgets: [],
  trustScore: 1,
};

export function createSimulator(options: SimulatorOptions): Simulator {
  const judge = createJudge(options.mode);
  const assess = assessRiskStage(options);

  async function assessed(call: SimulatedCall, ground: Ground): Promise<AssessedCall<TenantConfig>> {
    const { page, given } = ground;
    await options.open?.(call.received, call.identity);
    const admitted = await admittedAs(call, ground);
    const policies = { rulesFor: () => page, lastKnown: () => page };
    const inspected = await inspect({ ...options, policies }).run(admitted);
    if (inspected instanceof RefusedCall) throw inspected.error;
    const marks = await options.homes.mark(inspected);
    const result = assess.run(new InspectedCall(inspected, inspected.inspection, marks));
    if (given.risk_score === undefined) return result;
    const risk = { ...result.risk, score: given.risk_score, band: bandOf(given.risk_score, options.bounds) };
    return new AssessedCall(result, result.evidence, risk);
  }

  /** Returns the call as the state would have admitted it, had it been asked. */
  async function admittedAs(
    { received, identity, agentStatus, scopeViolations = noViolations }: SimulatedCall,
    { tenant, given, standingOf }: Ground,
  ): Promise<AdmittedCall<TenantConfig>> {
    const classified = classifyOperation(options.catalogues.of(tenant.id), received, tenant.maxDecodedBytes);
    const admission = {
      ...plainAdmission(tenant, identity, given.agent_status ?? agentStatus),
      scopeViolations: scopeViolations(classified.operation),
    };
    const standing = await standingOf(new AdmittedCall(classified, admission));
    return new AdmittedCall(classified, {
      ...admission,
      exceededBudgets: standing.exceededBudgets,
      history: {
        ...admission.history,
        isNewDestination: given.is_new_destination ?? standing.isNewDestination,
        trustScore: given.trust_score ?? standing.trustScore,
      },
    });
  }

  return {
    ...options,
    judge,
    async run(call, ground, sets) {
      const { given } = ground;
      const it = await assessed(call, ground);
      return withCuts(() =>
        sets.map((rules) => {
          const { opinion, isMonitored } = judge(it, rules, (facts) => withGiven(facts, given));
          return new DecidedCall(it, { verdict: toVerdict(it, opinion), isMonitored, incidents: none });
        }),
      );
    },
  };
}

const none: readonly never[] = Object.freeze([]);
const noViolations = () => none;
