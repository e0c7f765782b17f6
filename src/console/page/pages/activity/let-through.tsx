import { useState } from 'preact/hooks';
import { may } from '../../data/api.ts';
import { type Change, exceptionFor } from '../../data/exception.ts';
import { apply, archive, type Simulation, simulate } from '../../data/policy-call.ts';
import { pretty } from '../../data/pretty.ts';
import { useAction } from '../../data/resource.ts';
import { href } from '../../data/route.ts';
import { Problem } from '../../kit/bits.tsx';
import { Diff } from '../../kit/diff.tsx';
import { Simulated } from '../../kit/simulated.tsx';
import type { Trace } from './trace-detail.tsx';

/** What is refused before rules are asked, none lets through. */
const beforeRules: Readonly<Record<string, string>> = {
  AGENT_SUSPENDED: 'The agent is suspended. Reactivate it on its page.',
  DENYLISTED: 'The denylist of the tenant has the destination: tenants[].denylist of the configuration.',
  THREAT_INTEL_MATCH:
    'A threat feed lists the destination: tenants[].allowlist of the configuration lifts that.',
  EPHEMERAL_SCOPE_VIOLATION: 'The key was made for other calls. Make one with a wider scope.',
  UNREADABLE: 'The call cannot be read to its end within the limits of the configuration.',
  RECENT_APPROVAL_DENIAL: 'A person has denied it. The denial ends after approvals.deny_window.',
  QUOTA_EXCEEDED: 'The quota of the period is used up.',
  RATE_LIMITED: 'The agent sent too many calls in a minute. It goes on by itself.',
  EGRESS_BLOCKED:
    'The address is private or refused: upstream.allow_private and upstream.deny of the configuration.',
  PAYLOAD_TOO_LARGE: 'The body is larger than limits.max_body_bytes of the configuration.',
  REPLAYED: 'The call came a second time.',
  GATEWAY_BUSY: 'The gateway had no room. It goes on by itself.',
};

export function LetThrough({ trace }: { trace: Trace }) {
  const [changes, setChanges] = useState<readonly Change[]>();
  const [tried, setTried] = useState<Simulation>();
  // Where a rule decided, it is the rule that must change.
  const refused = trace.policy_name ? undefined : trace.reason_codes?.find((it) => it in beforeRules);
  const isRedacted = trace.url.includes('[REDACTED');
  const ask = useAction(async () => {
    if (refused || isRedacted) return setChanges([]);
    const found = await exceptionFor(trace);
    setChanges(found);
    setTried(await simulate(found.map((it) => it.after)));
  });
  if (changes === undefined)
    return (
      <div>
        <Problem of={ask.problem} />
        <button type="button" class="plain" disabled={ask.isRunning} onClick={() => void ask.run()}>
          What would let exactly this through?
        </button>
      </div>
    );
  return (
    <section>
      <h3>What would let exactly this through</h3>
      {refused && <p class="hint">No rule does. {beforeRules[refused]}</p>}
      {isRedacted && (
        <p class="hint">The address held a secret, which is not kept, so no rule can name it exactly.</p>
      )}
      {changes.length > 0 && <Proposal changes={changes} tried={tried} problem={ask.problem} />}
    </section>
  );
}

interface ProposalOf {
  readonly changes: readonly Change[];
  readonly tried: Simulation | undefined;
  readonly problem: Error | undefined;
}

function Proposal({ changes, tried, problem }: ProposalOf) {
  const [isApplied, setApplied] = useState(false);
  const change = useAction(async () => {
    for (const { before, after } of changes) {
      if (!isApplied) await apply(after);
      else if (before) await apply(before);
      else await archive(after.name);
    }
    setApplied(!isApplied);
  });
  const file = changes.find((it) => it.isFile);
  return (
    <>
      <p class="hint">
        An exception for the same agent, method and address, in front of what stops the call:
      </p>
      {changes.map(({ before, after }) => (
        <div key={after.name}>
          <p class="hint">
            Policy <a href={href(['policies', after.name])}>{after.name}</a>
            {before ? '' : ', a new one'}
          </p>
          <Diff
            label={`What changes in the policy ${after.name}`}
            before={before ? pretty(before.rules) : ''}
            after={pretty(after.rules)}
          />
        </div>
      ))}
      <Problem of={problem ?? change.problem} />
      {tried ? (
        <Simulated of={tried} />
      ) : (
        !problem && (
          <p class="hint" role="status">
            It is being tried on the last 24 hours…
          </p>
        )
      )}
      {file ? (
        <p class="hint">The policy {file.after.name} stands in a file: add the rule there.</p>
      ) : may('policies:write') ? (
        <div class="row">
          <button
            type="button"
            class={isApplied ? 'plain' : ''}
            disabled={change.isRunning || !tried}
            onClick={() => void change.run()}
          >
            {isApplied ? 'Undo' : 'Apply'}
          </button>
          <span class="hint" role="status">
            {isApplied ? 'In force from the next call on.' : ''}
          </span>
        </div>
      ) : (
        <p class="hint">A key with policies:write, or the admin secret, can apply it.</p>
      )}
    </>
  );
}
