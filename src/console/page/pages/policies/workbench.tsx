import { useState } from 'preact/hooks';
import { may } from '../../data/api.ts';
import { type Applied, apply, simulate } from '../../data/policy-call.ts';
import { parsePolicy } from '../../data/policy-text.ts';
import { useAction } from '../../data/resource.ts';
import { Card, Problem } from '../../kit/bits.tsx';
import { Diff } from '../../kit/diff.tsx';
import { Act } from '../../kit/form.tsx';
import { Simulated } from '../../kit/simulated.tsx';
import { type Checked, Editor } from './editor.tsx';
import '../../style/policies.css';
import type { Simulation } from '../../../../api/answers.ts';

interface WorkbenchOf {
  readonly text: string;
  readonly onText: (text: string) => void;
  /** The text that is in force; '' for a new policy. */
  readonly standing: string;
  readonly isReadOnly: boolean;
  readonly onApplied: (applied: Applied) => void;
}

/** Lets people write a policy, see what it would have changed, and apply it. */
export function Workbench({ text, onText, standing, isReadOnly, onApplied }: WorkbenchOf) {
  const [checked, setChecked] = useState<Checked>();
  const [tried, setTried] = useState<{ text: string; result: Simulation }>();
  const parsed = () => {
    const it = parsePolicy(text);
    if ('mistake' in it) throw new Error(it.mistake.message);
    return it.policy;
  };
  const simulation = useAction(async () => setTried({ text, result: await simulate([parsed()]) }));
  const applying = useAction(async (mode?: 'monitor') => {
    const applied = await apply(mode ? { ...parsed(), mode } : parsed());
    setTried(undefined);
    onApplied(applied);
  });
  const isChanged = text !== standing;
  const isWrong = (checked?.mistakes.length ?? 0) > 0;
  const isTried = tried?.text === text;
  const isBusy = simulation.isRunning || applying.isRunning;
  return (
    <div class="policy">
      <div class="stack">
        <Editor text={text} onText={onText} onChecked={setChecked} isReadOnly={isReadOnly} />
        {(checked?.warnings.length ?? 0) > 0 && (
          <ul class="note warn">
            {checked?.warnings.map((it) => (
              <li key={it}>{it}</li>
            ))}
          </ul>
        )}
      </div>
      <div class="stack">
        {!isReadOnly && (
          <Card title="Before it counts">
            <div class="stack">
              <div class="row">
                <Act look="plain" isOff={isWrong || isBusy} run={simulation.run}>
                  {simulation.isRunning ? 'Trying it…' : 'Simulate on the last 24 hours'}
                </Act>
              </div>
              <Problem of={simulation.problem ?? applying.problem} />
              {isTried && <Simulated of={tried.result} />}
              {!isTried && (
                <p class="hint">Simulate first: it says which calls would have been decided otherwise.</p>
              )}
              {may('policies:write') && (
                <div class="row">
                  <Act isOff={isWrong || isBusy || !isChanged} run={() => applying.run()}>
                    Apply
                  </Act>
                  <Act
                    look="plain"
                    isOff={isWrong || isBusy}
                    run={() => applying.run('monitor')}
                    title="Its decisions are recorded as “would be”, and do not bind"
                  >
                    Apply in monitor mode
                  </Act>
                </div>
              )}
            </div>
          </Card>
        )}
        {isChanged && standing !== '' && (
          <Card
            title="What you changed"
            actions={
              !isReadOnly && (
                <button type="button" class="small" onClick={() => onText(standing)}>
                  Discard
                </button>
              )
            }
          >
            <Diff before={standing} after={text} label="What you changed" />
          </Card>
        )}
      </div>
    </div>
  );
}
