import type { AnswerScan, ShownFinding } from '../../../../api/answers.ts';
import { reasonWord } from '../../data/words.ts';
import { Time } from '../../kit/bits.tsx';

const isWithheld = (it: AnswerScan): boolean => (it.blocked?.length ?? 0) > 0;
const isRedacted = (it: AnswerScan): boolean => (it.redacted?.length ?? 0) > 0;

/** Shows beside the decision what became of the answer, since a call that went out may have got nothing. */
export function AnswerBadge({ scans }: { scans: readonly AnswerScan[] }) {
  if (scans.some(isWithheld)) return <span class="badge tone-bad">answer withheld</span>;
  if (scans.some(isRedacted)) return <span class="badge decision-sanitize">answer redacted</span>;
  return null;
}

/** Shows what was found in the answers, and what the agent got of them. */
export function Answers({ scans }: { scans: readonly AnswerScan[] }) {
  if (scans.length === 0) return null;
  return (
    <section>
      <h3>What came back</h3>
      {scans.map((scan, index) => (
        <Answer key={index} scan={scan} />
      ))}
    </section>
  );
}

function Answer({ scan }: { scan: AnswerScan }) {
  const { injection, redacted = [], data_classes: classes = [] } = scan;
  // These reasons are said by other words below.
  const said = ['RESPONSE_BLOCKED', ...(injection?.detected ? ['PROMPT_INJECTION'] : [])];
  const reasons = (scan.blocked ?? []).filter((it) => !said.includes(it)).map(reasonWord);
  return (
    <>
      <p class="answer">
        {scan.failure !== undefined
          ? `There was no answer: ${reasonWord(scan.failure)}`
          : isWithheld(scan)
            ? 'The agent did not get this answer'
            : isRedacted(scan)
              ? 'The agent got this answer without what was cut out'
              : 'The agent got this answer'}
        {reasons.length > 0 && ` (${reasons.join('; ')})`}.{' '}
        <span class="faint">
          {scan.response_status !== undefined && `Status ${scan.response_status} · `}
          <Time at={scan.at} />
        </span>
      </p>
      <ul class="found">
        {injection?.detected && (
          <li>
            A prompt injection was found, score <span class="number">{injection.score.toFixed(2)}</span>
          </li>
        )}
        {classes.length > 0 && <li>It holds {classes.join(', ')}</li>}
        <Found of={injection?.detected ? injection.findings : []} />
        <Found of={redacted} />
      </ul>
    </>
  );
}

function Found({ of }: { of: readonly Pick<ShownFinding, 'kind' | 'location'>[] }) {
  return (
    <>
      {[...Map.groupBy(of, (it) => it.location)].map(([location, found]) => (
        <li key={location}>
          <code>{location}</code>{' '}
          {[...new Set(found.map((it) => it.kind))].map((kind) => (
            <mark key={kind} class="finding">
              {kind}
            </mark>
          ))}
        </li>
      ))}
    </>
  );
}
