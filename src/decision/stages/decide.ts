import type { TenantConfig } from '../../config/schema.ts';
import { type AssessedCall, DecidedCall } from '../../core/call.ts';
import { toGatewayError } from '../../core/errors.ts';
import { withCuts } from '../../inspect/parts/sanitize.ts';
import type { PolicySet } from '../../policy/index.ts';
import type { Rules } from '../../tenants/policy-book.ts';
import { after, type MaybePromise } from '../../util/maybe-promise.ts';
import type { ApprovalDesk } from '../approvals/approval-desk.ts';
import { createJudge } from '../judge.ts';
import { afterDenial, afterGrant, type Enforceable, incidentsOf } from '../opinion.ts';
import { RefusedCall, type Stage } from '../pipeline.ts';
import { type CallerSources, reauthorize } from '../reauthorize.ts';
import { toVerdict } from '../verdict.ts';

export interface DecideOptions extends CallerSources {
  readonly policies: Rules;
  readonly approvals: Pick<ApprovalDesk, 'hold' | 'wait' | 'isFull'>;
  /** The mode of the daemon. A tenant can be in monitor mode where the daemon is not. */
  readonly mode: 'enforce' | 'monitor';
  /**
   * Tells whether another generation of the configuration has replaced the one that this stage was made for.
   */
  readonly isRetired: () => boolean;
}

type Assessed = AssessedCall<TenantConfig>;
type Decided = DecidedCall<TenantConfig>;

/**
 * Creates the stage that turns the opinion on a call (`judge.ts`) into its verdict. It asks the state only
 * about held calls.
 */
export const decideStage = (options: DecideOptions): Stage<Assessed, Decided> => new DecideStage(options);

class DecideStage implements Stage<Assessed, Decided> {
  readonly name = 'decide';
  readonly #options: DecideOptions;
  readonly #judge;

  constructor(options: DecideOptions) {
    this.#options = options;
    this.#judge = createJudge(options.mode);
  }

  run(call: Assessed): MaybePromise<Decided | RefusedCall> {
    return after(this.#options.policies.rulesFor(call.identity.tenantId), ({ rules }) =>
      this.#conclude(call, rules, false),
    );
  }

  #conclude(call: Assessed, rules: PolicySet, wasHeld: boolean): MaybePromise<Decided | RefusedCall> {
    return after(
      withCuts(() => this.#judge(call, rules)),
      ({ opinion, isMonitored }): MaybePromise<Decided | RefusedCall> => {
        if (!isMonitored && opinion.decision === 'REQUIRE_APPROVAL')
          return this.#hold(call, opinion, wasHeld);
        return isMonitored
          ? new DecidedCall(call, { verdict: toVerdict(call, opinion), isMonitored, incidents: none })
          : this.#settle(call, opinion);
      },
    );
  }

  #settle(call: Assessed, opinion: Enforceable, byApproval?: string): Decided {
    const verdict = toVerdict(call, opinion);
    return new DecidedCall(call, {
      verdict: byApproval === undefined ? verdict : { ...verdict, byApproval },
      isMonitored: false,
      incidents: incidentsOf(call, opinion),
    });
  }

  /**
   * Asks what people have decided on the identical call. Policies, denylist and suspension have let the call
   * come this far. Where asking fails, the incidents of the call are opened all the same.
   */
  async #hold(call: Assessed, opinion: Enforceable, wasHeld: boolean): Promise<Decided | RefusedCall> {
    const { tenant } = call;
    const verdict = toVerdict(call, opinion);
    const incidents = incidentsOf(call, opinion);
    try {
      const { kind, approval } = await this.#options.approvals.hold(call, verdict);
      const { approvalId, expiresAtMs } = approval;
      if (kind !== 'pending')
        return this.#settle(
          call,
          kind === 'granted' ? afterGrant(opinion) : afterDenial(opinion),
          approvalId,
        );
      const pending = new DecidedCall(call, {
        verdict: { ...verdict, approval: { approvalId, expiresAtMs } },
        isMonitored: false,
        incidents,
      });
      return !wasHeld && this.#isHeldOpen(call) ? await this.#holdOpen(pending, approvalId, tenant) : pending;
    } catch (error) {
      return new RefusedCall({ ...call, incidents }, toGatewayError(error));
    }
  }

  #isHeldOpen({ tenant, entrance }: Assessed): boolean {
    return (
      tenant.approvals.holdMs > 0 &&
      entrance !== 'scan' &&
      entrance !== 'a2a' &&
      !this.#options.approvals.isFull(tenant.id)
    );
  }

  /**
   * Waits for the decision, then judges anew. Key, agent and policies may have changed, and of several calls
   * that wait for one grant only one may have it. A call that is still pending then is answered as if it had
   * not been held. So is a call that was decided under another configuration than this one. When the caller
   * asks again, that other configuration judges the call.
   */
  async #holdOpen(
    call: Decided,
    approvalId: string,
    { id, approvals: { holdMs } }: TenantConfig,
  ): Promise<Decided | RefusedCall> {
    const { isAwaited } = call.received;
    const decided = await this.#options.approvals.wait(id, approvalId, holdMs, isAwaited);
    if (decided?.status !== 'approved' && decided?.status !== 'denied') return call;
    const { agentStatus } = await reauthorize(this.#options, call);
    const { rules } = await this.#options.policies.rulesFor(call.identity.tenantId);
    // A grant is not spent on a call that nobody waits for any more.
    if (!isAwaited() || this.#options.isRetired()) return call;
    return this.#conclude(call.withAgentStatus(agentStatus), rules, true);
  }
}

const none: readonly never[] = Object.freeze([]);
