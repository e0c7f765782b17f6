import type { Simulation } from '../data/policy-call.ts';
import { href } from '../data/route.ts';
import { DecisionBadge } from './bits.tsx';
import { Table } from './table.tsx';

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
      {changed.length > 0 && (
        <Table
          label="Calls that would have been decided otherwise"
          keyOf={(it) => it.trace_id}
          rows={changed.slice(0, shownMax)}
          columns={[
            { name: 'Was', cell: (it) => <DecisionBadge of={it.before.decision} /> },
            { name: 'Would be', cell: (it) => <DecisionBadge of={it.after.decision} /> },
            {
              name: 'By rule',
              kind: 'wide',
              cell: (it) => (
                <span class="clip">{it.after.rule_id ?? it.before.rule_id ?? 'the posture'}</span>
              ),
            },
            { name: 'Call', cell: (it) => <a href={href(['activity', it.trace_id])}>show</a> },
          ]}
        />
      )}
      {changed.length > shownMax && <p class="hint">The first {shownMax} are shown.</p>}
    </div>
  );
}
