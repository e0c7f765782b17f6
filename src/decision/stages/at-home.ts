import type { CredentialHomes } from '../../credentials/credential-homes.ts';
import { wasLetOut } from '../../state/rules/destinations.ts';
import type { MaybePromise } from '../../state/store.ts';
import { after } from '../../util/maybe-promise.ts';
import type { Stage } from '../pipeline.ts';

/**
 * Is what it carries a leak, or how it authenticates? Marks credentials at home, then has the call judged by the stages that are given. Where
 * that lets it out, its credentials are bound to their home; where another call was first, it is judged again with them away from home.
 */
export function atHome(homes: CredentialHomes, judging: readonly Stage[]): Stage {
  return {
    name: 'at-home',
    run(call) {
      const { findings } = call;
      const judge = (from = 0): MaybePromise<void> => {
        const stage = judging[from];
        if (stage && !call.verdict) return after(stage.run(call), () => judge(from + 1));
      };
      const judgeAway = (): MaybePromise<void> => {
        call.findings = findings;
        call.markAgain = undefined;
        call.cutBodies = undefined;
        call.knownCredentials = [];
        call.verdict = undefined;
        return after(homes.mark(call, { isFirstUse: false }), () => judge());
      };
      const bind = (): MaybePromise<void> => {
        if (!call.homing || !call.verdict || !wasLetOut(call.verdict)) return;
        return after(homes.bind(call), (isBound) => (isBound ? undefined : judgeAway()));
      };
      return after(homes.mark(call), () => after(judge(), bind));
    },
  };
}
