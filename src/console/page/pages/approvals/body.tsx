import type { ShownFinding } from '../../../../api/answers.ts';
import { readExact } from '../../data/exact-json.ts';
import { Marked } from '../../kit/marked.tsx';

interface BodyOf {
  readonly text: string;
  readonly bytes: number;
  readonly findings: readonly ShownFinding[];
  readonly isWebSocket: boolean;
}

/** Returns JSON laid out in lines. A text that this would change stays as it is. */
function laidOut(text: string): string {
  const value = readExact(text);
  return value === undefined ? text : JSON.stringify(value, null, 2);
}

/** Shows the body as far as it may be seen. What was found in it is taken out, and marked where it was. */
export function Body({ text, bytes, findings, isWebSocket }: BodyOf) {
  return (
    <>
      {text === '' ? (
        <p class="hint">
          {isWebSocket ? 'It opens a WebSocket; its messages are judged one by one.' : 'It has no body.'}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
        <section class="body-box" tabIndex={0} aria-label={`The body, ${bytes} bytes`}>
          <pre class="text">
            <Marked text={laidOut(text)} />
          </pre>
        </section>
      )}
      {findings.length > 0 && (
        <ul class="found">
          {findings.map((it) => (
            <li key={it.location + it.kind}>
              <mark class="finding">{it.kind}</mark> at <code>{it.location}</code>{' '}
              <span class="faint">
                {it.class}, {it.confidence} confidence
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
