import type { Approval, ShownFinding, ShownTrace } from '../../../../api/answers.ts';
import { useOne } from '../../data/pages.ts';
import { requestLines } from '../../data/request-lines.ts';
import { Marked } from '../../kit/marked.tsx';
import { Body } from '../approvals/body.tsx';

const marks = { ' ': 'same', '-': 'removed', '+': 'added' } as const;

/** Shows the request as far as it may be seen, with what was found in its place, and what was put there. */
export function Request({ trace }: { trace: ShownTrace }) {
  const { findings = [], decision, approval_id: approvalId } = trace;
  const held = useOne<Approval>(approvalId && `/v1/approvals/${encodeURIComponent(approvalId)}`);
  if (findings.length === 0 && held.data === undefined) return null;
  const isSanitized = decision === 'SANITIZE';
  return (
    <section>
      <h3>{isSanitized ? 'What came, and what went out' : 'The request'}</h3>
      {held.data ? (
        <Body
          text={held.data.body_preview}
          bytes={held.data.body_bytes}
          findings={[]}
          isWebSocket={held.data.opens_websocket}
        />
      ) : (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
          <section class="diff-box" tabIndex={0} aria-label="The request, with what was found in its place">
            <pre class="diff">
              {requestLines({ ...trace, findings, isSanitized }).map((it, index) => (
                <span key={index} class={`line ${marks[it.mark]}`}>
                  {`${it.mark} `}
                  <Marked text={it.text} />
                  {'\n'}
                </span>
              ))}
            </pre>
          </section>
          <p class="hint">Texts are never kept: … stands for what nothing was found in.</p>
        </>
      )}
      <Places findings={findings} />
    </section>
  );
}

function Places({ findings }: { findings: readonly ShownFinding[] }) {
  if (findings.length === 0) return null;
  const places = Map.groupBy(findings, (it) => it.location);
  return (
    <>
      <h3>What was found, and where</h3>
      <ul class="found">
        {[...places].map(([location, found]) => (
          <li key={location}>
            <code>{location}</code>{' '}
            {found.map((it) => (
              <span key={it.kind}>
                <mark class="finding">{it.kind}</mark>{' '}
                <span class="faint">
                  {it.class}, {it.confidence} confidence{' '}
                </span>
              </span>
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}
