import { type AssessedCall, type DecidedCall, InspectedCall } from '../../core/call.ts';
import type { CredentialHomes } from '../../credentials/credential-homes.ts';
import { wasLetOut } from '../../state/rules/destinations.ts';
import { after } from '../../util/maybe-promise.ts';
import { type RefusedCall, type Stage, unlessRefused } from '../pipeline.ts';

/**
 * Creates the stage that marks the credentials that are at home. They are how the call authenticates, and no
 * leak.
 */
export function markCredentials<Tenant>(
  homes: Pick<CredentialHomes, 'mark'>,
): Stage<InspectedCall<Tenant>, InspectedCall<Tenant>> {
  return {
    name: 'mark-credentials',
    run: (call) => after(homes.mark(call), (marks) => marked(call, marks)),
  };
}

const marked = <Tenant>(call: InspectedCall<Tenant>, marks: InspectedCall['marks']): InspectedCall<Tenant> =>
  marks === call.marks ? call : new InspectedCall(call, call.inspection, marks);

/**
 * Creates the stage that binds the credentials of a call that is let out to their home. Where another call
 * was the first to bind them, this one is assessed and decided again, with them away from home.
 */
export function bindCredentials<Tenant>(
  homes: CredentialHomes,
  assess: Stage<InspectedCall<Tenant>, AssessedCall<Tenant>>,
  decide: Stage<AssessedCall<Tenant>, DecidedCall<Tenant>>,
): Stage<DecidedCall<Tenant>, DecidedCall<Tenant>> {
  type Judged = DecidedCall<Tenant> | RefusedCall;
  const judgeAway = (call: DecidedCall<Tenant>) => {
    const unmarked = new InspectedCall(call, call.inspection);
    return after(homes.mark(unmarked, { isFirstUse: false }), (marks) =>
      unlessRefused<AssessedCall<Tenant>, DecidedCall<Tenant>>(assess.run(marked(unmarked, marks)), (it) =>
        decide.run(it),
      ),
    );
  };
  return {
    name: 'bind-credentials',
    run: (call) =>
      call.marks.homing && wasLetOut(call.verdict)
        ? after(homes.bind(call), (isBound): Judged | Promise<Judged> => (isBound ? call : judgeAway(call)))
        : call,
  };
}
