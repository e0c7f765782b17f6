import type { Simulation } from '../../../api/answers.ts';
import { href } from '../data/route.ts';
import { DecisionBadge } from './bits.tsx';

type Changed = Simulation['changed'][number];

const shownMax = 200;
const calls = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'call' : 'calls'}`;

/** Shows what a policy would have changed, as a sentence and as the calls. */
export function Simulated({ of: { evaluated, changed, undetermined, warnings } }: { of: Simulation }) {
  return (
    <div class="stack" role="status">
      <p>
        {evaluated === 0
          ? 'No call of the last 24 hours is there to try it on.'
          : changed.length === 0
            ? `Of the last ${calls(evaluated)} within 24 hours, none would have been decided otherwise.`
            : `Of the last ${calls(evaluated)} within 24 hours, ${changed.length.toLocaleString('en')} would have been decided otherwise.`}
        {undetermined.length > 0 &&
          ` Of ${undetermined.length.toLocaleString('en')} it cannot be told: what decides is not kept.`}
      </p>
      {warnings.length > 0 && (
        <ul class="note warn">
          {warnings.map((it) => (
            <li key={it}>{it}</li>
          ))}
        </ul>
      )}
      {changed.length > 0 && <Changes of={changed} />}
    </div>
  );
}

function Changes({ of }: { of: readonly Changed[] }) {
  const kinds = Map.groupBy(of, ({ before, after }) => `${before.decision} ${after.decision}`);
  return (
    <>
      <ul class="found">
        {[...kinds].map(([kind, [first, ...others]]) => (
          <li key={kind}>
            {first && <Outcomes of={first} />} {calls(others.length + 1)}
          </li>
        ))}
      </ul>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <section class="changed-calls" tabIndex={0} aria-label="Calls that would have been decided otherwise">
        <ul class="found">
          {of.slice(0, shownMax).map((it) => (
            <ChangedCall key={it.trace_id} of={it} />
          ))}
        </ul>
      </section>
      {of.length > shownMax && <p class="hint">The first {shownMax} are shown.</p>}
    </>
  );
}

const Outcomes = ({ of: { before, after } }: { of: Changed }) => (
  <>
    <DecisionBadge of={before.decision} /> → <DecisionBadge of={after.decision} />
  </>
);

function ChangedCall({ of: it }: { of: Changed }) {
  const { trace_id = '', call, before, after } = it;
  const rule = after.rule_id ?? before.rule_id;
  return (
    <li>
      <a class="clip call" href={href(['activity', trace_id])} title={call?.url}>
        {call ? (
          <>
            <span class="method">{call.method}</span> {call.url}
          </>
        ) : (
          trace_id
        )}
      </a>
      <Outcomes of={it} />{' '}
      <span class="faint">
        {[call?.agent_name, rule === null ? 'the posture' : `rule ${rule}`].filter(Boolean).join(' · ')}
      </span>
    </li>
  );
}
