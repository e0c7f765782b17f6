import { useState } from 'preact/hooks';
import { may } from '../../data/api.ts';
import { apply, archive, type PolicyText, type Simulation, simulate } from '../../data/policy-call.ts';
import { useAction } from '../../data/resource.ts';
import { href } from '../../data/route.ts';
import { Problem } from '../../kit/bits.tsx';
import { Diff } from '../../kit/diff.tsx';
import { Simulated } from '../../kit/simulated.tsx';
import type { Trace } from './trace-detail.tsx';

/** The smallest rule that lets exactly this call through: this agent, this method, this address. */
function smallestPolicy(trace: Trace): PolicyText {
  const { pathname, origin } = new URL(trace.url);
  const short = trace.trace_id.slice(-8);
  return {
    name: `let-through-${short}`,
    description: `Made from the trace ${trace.trace_id}`,
    rules: [
      {
        rule_id: `let-through-${short}`,
        priority: -1000,
        match: { agent_ids: [trace.agent_id], methods: [trace.method], url_patterns: [`${origin}${pathname}`] },
        action: 'ALLOW',
      },
    ],
  };
}

/** A rule speaks about addresses and agents: what is refused before rules are asked, none lets through. */
const beforeRules = new Set(['INVALID_KEY', 'AGENT_SUSPENDED', 'QUOTA_EXCEEDED', 'RATE_LIMITED', 'EGRESS_BLOCKED', 'PAYLOAD_TOO_LARGE', 'REPLAYED', 'GATEWAY_BUSY']);

export function LetThrough({ trace }: { trace: Trace }) {
  const [isShown, setShown] = useState(false);
  const [tried, setTried] = useState<Simulation>();
  const [isApplied, setApplied] = useState(false);
  const refused = trace.reason_codes?.find((it) => beforeRules.has(it));
  const isRedacted = trace.url.includes('[REDACTED');
  const policy = isRedacted || refused ? undefined : smallestPolicy(trace);
  const simulation = useAction(async () => setTried(await simulate(policy)));
  const change = useAction(async () => {
    if (!policy) return;
    if (isApplied) await archive(policy.name);
    else await apply(policy);
    setApplied(!isApplied);
  });
  if (!isShown)
    return (
      <div>
        <button type="button" class="plain" onClick={() => { setShown(true); if (policy) void simulation.run(); }}>
          What would let exactly this through?
        </button>
      </div>
    );
  return (
    <section>
      <h3>What would let exactly this through</h3>
      {refused && <p class="hint">No rule does: {refused} stands before all rules. Remove its cause instead.</p>}
      {isRedacted && <p class="hint">The address holds a secret that is not kept, so no rule can name it exactly.</p>}
      {policy && (
        <>
          <p class="hint">This rule, before all others: the same agent, the same method, the same address.</p>
          <Diff label="The rule" before="" after={JSON.stringify(policy.rules[0], null, 2)} />
          <Problem of={simulation.problem ?? change.problem} />
          {simulation.isRunning && <p class="hint" role="status">It is being tried on the last 24 hours…</p>}
          {tried && <Simulated of={tried} />}
          <div class="row">
            {may('policies:write') ? (
              <button type="button" class={isApplied ? 'plain' : ''} disabled={change.isRunning || !tried} onClick={() => void change.run()}>
                {isApplied ? 'Undo: archive the rule' : 'Apply the rule'}
              </button>
            ) : (
              <p class="hint">Who may write policies (policies:write) can apply it.</p>
            )}
            {isApplied && <a href={href(['policies', policy.name])}>Show the policy</a>}
          </div>
          <p class="hint" role="status">
            {isApplied ? 'It is in force from the next call on.' : ''}
          </p>
        </>
      )}
    </section>
  );
}
