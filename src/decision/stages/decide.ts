import type { TenantConfig } from '../../config/schema.ts';
import type { Call } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { withCuts } from '../../inspect/parts/sanitize.ts';
import type { PolicySet } from '../../policy/index.ts';
import { type Rules, rulesForCall } from '../../tenants/policy-book.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { after } from '../../util/maybe-promise.ts';
import type { ApprovalDesk } from '../approvals/approval-desk.ts';
import { type CallerSources, callerNow } from '../caller-now.ts';
import { createJudge } from '../judge.ts';
import { afterDenial, afterGrant, type Enforceable, incidentsOf, toVerdict } from '../opinion.ts';
import type { Stage } from '../pipeline.ts';

export interface DecideOptions extends CallerSources {
  readonly tenants: Tenants;
  readonly policies: Rules;
  readonly approvals: Pick<ApprovalDesk, 'hold' | 'wait' | 'isFull'>;
  /** The daemon's own mode; a tenant's may be laxer still. */
  readonly mode: 'enforce' | 'monitor';
  /** Another generation of the configuration has taken the place of the one that it was made for. */
  readonly isRetired: () => boolean;
}

/** Which rule? What is thought of the call (`judge.ts`) becomes its verdict. Only a call that must be held asks the state. */
export function decideStage(options: DecideOptions): Stage {
  const { tenants, policies, approvals, mode, isRetired } = options;
  const judge = createJudge(mode);

  function conclude(
    call: Call,
    tenant: TenantConfig,
    rules: PolicySet,
    wasHeld = false,
  ): void | Promise<void> {
    return after(
      withCuts(() => judge(call, tenant, rules)),
      ({ opinion, isMonitored }) => {
        call.isMonitored = isMonitored;
        if (!isMonitored && opinion.decision === 'REQUIRE_APPROVAL')
          return hold(call, opinion, tenant, wasHeld);
        if (isMonitored) call.verdict = toVerdict(call, opinion);
        else settle(call, opinion);
      },
    );
  }

  function settle(call: Call, opinion: Enforceable, byApproval?: string): void {
    const verdict = toVerdict(call, opinion);
    call.verdict = byApproval === undefined ? verdict : { ...verdict, byApproval };
    call.incidents = incidentsOf(call, opinion);
  }

  /** Asks what people have said of the identical call. Policies, denylist and suspension have let it come this far. */
  async function hold(
    call: Call,
    opinion: Enforceable,
    tenant: TenantConfig,
    wasHeld: boolean,
  ): Promise<void> {
    const verdict = toVerdict(call, opinion);
    call.incidents = incidentsOf(call, opinion);
    const { kind, approval } = await approvals.hold(call, verdict, tenant);
    const { approvalId, expiresAtMs } = approval;
    if (kind !== 'pending') {
      settle(call, kind === 'granted' ? afterGrant(opinion) : afterDenial(opinion), approvalId);
      return;
    }
    call.verdict = { ...verdict, approval: { approvalId, expiresAtMs } };
    if (!wasHeld && isHeldOpen(call, tenant)) await holdOpen(call, tenant, approvalId);
  }

  const isHeldOpen = (call: Call, tenant: TenantConfig): boolean =>
    tenant.approvals.holdMs > 0 &&
    call.entrance !== 'scan' &&
    call.entrance !== 'a2a' &&
    !approvals.isFull(tenant.id);

  /**
   * Waits for the decision, then judges anew: key, agent and policies may have changed, and of several that wait for one grant only one
   * may have it. What is still pending then is answered as if it had not been held, and so is what was decided under another
   * configuration than this one: asked again, it is judged by that.
   */
  async function holdOpen(call: Call, tenant: TenantConfig, approvalId: string): Promise<void> {
    const decided = await approvals.wait(tenant.id, approvalId, tenant.approvals.holdMs, call.isAwaited);
    if (decided?.status !== 'approved' && decided?.status !== 'denied') return;
    call.agentStatus = (await callerNow(options, call)).agentStatus;
    const { rules } = await rulesForCall(policies, call);
    // A grant is not spent on a call that nobody waits for any more.
    if (!call.isAwaited() || isRetired()) return;
    await conclude(call, tenant, rules, true);
  }

  return {
    name: 'decide',
    run(call) {
      const tenant = call.identity && tenants.find(call.identity.tenantId);
      if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
      return after(rulesForCall(policies, call), ({ rules }) => conclude(call, tenant, rules));
    },
  };
}
