import { useState } from 'preact/hooks';
import type { ShownTrace, Simulation } from '../../../../api/answers.ts';
import { may } from '../../data/api.ts';
import { beforeOf, type Exception, exceptionFor } from '../../data/exception.ts';
import { apply, archive, simulate } from '../../data/policy-call.ts';
import { ruleToYaml, toYaml } from '../../data/policy-text.ts';
import { useAction } from '../../data/resource.ts';
import { href } from '../../data/route.ts';
import { Command, Problem } from '../../kit/bits.tsx';
import { Diff } from '../../kit/diff.tsx';
import { Act } from '../../kit/form.tsx';
import { Simulated } from '../../kit/simulated.tsx';

export function LetThrough({ trace }: { trace: ShownTrace }) {
  const [exception, setException] = useState<Exception>();
  const [tried, setTried] = useState<Simulation>();
  const ask = useAction(async () => {
    const found = await exceptionFor(trace.trace_id);
    setException(found);
    if (found.changes.length > 0) setTried(await simulate(found.changes.map((it) => it.policy)));
  });
  if (exception === undefined)
    return (
      <div>
        <Problem of={ask.problem} />
        <Act look="plain" isOff={ask.isRunning} run={ask.run}>
          Make an exception for this call…
        </Act>
      </div>
    );
  return (
    <section>
      <h3>An exception for this call</h3>
      {exception.because !== null && <p class="hint">{exception.because}</p>}
      {exception.changes.length > 0 && <Proposal exception={exception} tried={tried} problem={ask.problem} />}
    </section>
  );
}

interface ProposalOf {
  readonly exception: Exception;
  readonly tried: Simulation | undefined;
  readonly problem: Error | undefined;
}

function Proposal({ exception: { summary, wider, changes }, tried, problem }: ProposalOf) {
  const [isApplied, setApplied] = useState(false);
  const change = useAction(async () => {
    for (const it of changes) {
      if (!isApplied) await apply(it.policy);
      else if (it.version !== null) await apply(beforeOf(it));
      else await archive(it.name);
    }
    setApplied(!isApplied);
  });
  const file = changes.find((it) => it.source === 'file');
  return (
    <>
      <p class="hint">{summary}</p>
      {wider.length > 0 && (
        <div class="hint">
          Beyond this call it lets through:
          <ul>
            {wider.map((it) => (
              <li key={it}>{it}</li>
            ))}
          </ul>
        </div>
      )}
      {changes.map((it) => (
        <div key={it.name}>
          <p class="hint">
            Policy <a href={href(['policies', it.name])}>{it.name}</a>
            {it.version === null ? ', a new one' : ''}
          </p>
          <Diff
            label={`What changes in the policy ${it.name}`}
            before={it.version === null ? '' : toYaml(beforeOf(it))}
            after={toYaml(it.policy)}
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
        <>
          <p class="hint">The policy {file.name} stands in a file. Add this rule there, and reload:</p>
          <Command text={ruleToYaml(file.rule)} label="The rule to add" />
        </>
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
