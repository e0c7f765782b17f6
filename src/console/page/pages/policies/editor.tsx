import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem, call } from '../../data/api.ts';
import { lineOf, type Mistake, parsePolicy } from '../../data/policy-text.ts';
import { conditionWords, matchKeys, policyKeys, ruleKeys, values } from '../../data/policy-words.ts';

const typedMs = 350;
const suggestionsMax = 10;
const allWords = [...policyKeys, ...ruleKeys, ...matchKeys, ...conditionWords];

export interface Checked {
  readonly mistakes: readonly Mistake[];
  readonly warnings: readonly string[];
}

async function check(text: string, signal: AbortSignal): Promise<Checked> {
  const parsed = parsePolicy(text);
  if ('mistake' in parsed) return { mistakes: [parsed.mistake], warnings: [] };
  try {
    const { warnings } = await call<{ warnings: readonly string[] }>('POST', '/v1/policies/validate', {
      text: { type: 'application/yaml', content: text },
      signal,
    });
    return { mistakes: [], warnings };
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const mistakes = error.errors.map((it) => ({
      line: lineOf(text, it.path),
      message: it.path === '' ? it.message : `${it.path} ${it.message}`,
    }));
    return {
      mistakes: mistakes.length > 0 ? mistakes : [{ line: undefined, message: error.message }],
      warnings: [],
    };
  }
}

interface EditorOf {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onChecked: (checked: Checked) => void;
  readonly isReadOnly: boolean;
}

/** The text of a policy, checked by the gateway while it is written. */
export function Editor({ text, onText, onChecked, isReadOnly }: EditorOf) {
  const [checked, setChecked] = useState<Checked>({ mistakes: [], warnings: [] });
  const [at, setAt] = useState(-1);
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      check(text, controller.signal).then(
        (it) => {
          if (controller.signal.aborted) return;
          setChecked(it);
          onChecked(it);
        },
        () => undefined,
      );
    }, typedMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  const byLine = new Map(checked.mistakes.map((it) => [it.line ?? 0, it.message]));
  const insert = (from: number, word: string) => {
    const next = text.slice(0, from) + word + text.slice(at);
    onText(next);
    setAt(-1);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(from + word.length, from + word.length);
    });
  };
  const { from, words } = suggestionsAt(text, at);
  return (
    <div class="editor">
      <div class="editor-box">
        <div class="gutter" ref={gutter} aria-hidden="true">
          {text.split('\n').map((_, index) => (
            <span key={index} class={byLine.has(index + 1) ? 'mistaken' : ''} title={byLine.get(index + 1)}>
              {index + 1}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          aria-label="The policy, as YAML or JSON"
          aria-invalid={checked.mistakes.length > 0}
          aria-describedby="mistakes"
          spellcheck={false}
          autocomplete="off"
          readOnly={isReadOnly}
          value={text}
          onInput={(event) => {
            onText(event.currentTarget.value);
            setAt(event.currentTarget.selectionStart);
          }}
          onClick={(event) => setAt(event.currentTarget.selectionStart)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      {!isReadOnly && words.length > 0 && (
        <ul class="suggestions" aria-label="Words that fit here">
          {words.map((it) => (
            <li key={it}>
              <button type="button" class="small chip" onClick={() => insert(from, it)}>
                {it}
              </button>
            </li>
          ))}
        </ul>
      )}
      <ul class="mistakes" id="mistakes" aria-live="polite">
        {checked.mistakes.map((it) => (
          <li key={`${it.line} ${it.message}`}>
            {it.line !== undefined && <strong>Line {it.line}: </strong>}
            {it.message}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What can stand at the cursor: values where the line names a key that has some, otherwise keys. */
function suggestionsAt(text: string, at: number): { from: number; words: readonly string[] } {
  if (at < 0) return { from: at, words: [] };
  const before = text.slice(0, at);
  const begun = /[\w-]*$/.exec(before)?.[0] ?? '';
  const from = at - begun.length;
  const line = before.slice(before.lastIndexOf('\n') + 1, from);
  const key = /(\w+):\s*(?:\[[^\]]*)?$/.exec(line)?.[1];
  const known = key === undefined ? undefined : values[key];
  if (known)
    return {
      from,
      words: known.filter((it) => it !== begun && it.toLowerCase().startsWith(begun.toLowerCase())),
    };
  if (begun === '' || key !== undefined) return { from, words: [] };
  const isRight = (it: string) => it !== begun && it.startsWith(begun);
  return {
    from,
    words: [...new Set(allWords.filter(isRight))].slice(0, suggestionsMax).map((it) => `${it}: `),
  };
}
