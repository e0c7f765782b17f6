import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem, call } from '../../data/api.ts';
import { completionAt } from '../../data/completion.ts';
import { lineOf, type PolicyMistake, parsePolicy } from '../../data/policy-text.ts';
import { CompletionList, listId, optionId } from './completion-list.tsx';

const typedMs = 350;

export interface Checked {
  readonly mistakes: readonly PolicyMistake[];
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

/** Shows the text of a policy, checked by the gateway while it is written. */
export function Editor({ text, onText, onChecked, isReadOnly }: EditorOf) {
  const [checked, setChecked] = useState<Checked>({ mistakes: [], warnings: [] });
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
  const completion = useCompletion(text, onText, area);
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
        <div class="writing">
          <textarea
            ref={area}
            aria-label="The policy, as YAML or JSON"
            aria-invalid={checked.mistakes.length > 0}
            aria-describedby="mistakes"
            aria-autocomplete="list"
            aria-controls={completion.words.length > 0 ? listId : undefined}
            aria-activedescendant={completion.words.length > 0 ? optionId(completion.chosen) : undefined}
            spellcheck={false}
            autocomplete="off"
            wrap="off"
            readOnly={isReadOnly}
            value={text}
            onInput={(event) => {
              onText(event.currentTarget.value);
              completion.ask(event.currentTarget, false);
            }}
            onKeyDown={completion.press}
            onBlur={completion.close}
            onClick={completion.close}
            onScroll={(event) => {
              if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
              completion.close();
            }}
          />
          {!isReadOnly && completion.words.length > 0 && (
            <CompletionList {...completion} onChoose={completion.take} />
          )}
        </div>
      </div>
      {!isReadOnly && (
        <p class="hint">
          Words are offered as you write; <kbd>Ctrl</kbd> <kbd>Space</kbd> shows all that fit.
        </p>
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

interface Offered {
  readonly at: number;
  readonly from: number;
  readonly words: readonly string[];
  readonly chosen: number;
  readonly scroll: { readonly top: number; readonly left: number };
}

const none: Offered = { at: 0, from: 0, words: [], chosen: 0, scroll: { top: 0, left: 0 } };

/** Returns the words that are offered at the cursor, and the handlers of the keys that choose one. */
function useCompletion(
  text: string,
  onText: (text: string) => void,
  area: { readonly current: HTMLTextAreaElement | null },
) {
  const [offered, setOffered] = useState<Offered>(none);
  const { at, from, words, chosen, scroll } = offered;
  const ask = (asking: HTMLTextAreaElement, isAsked: boolean) => {
    const { selectionStart, scrollTop: top, scrollLeft: left } = asking;
    const found = completionAt(asking.value, selectionStart, isAsked);
    setOffered({ ...found, at: selectionStart, chosen: 0, scroll: { top, left } });
  };
  const close = () => setOffered(none);
  const take = (word: string) => {
    onText(text.slice(0, from) + word + text.slice(at));
    close();
    requestAnimationFrame(() => {
      const place = from + word.length;
      area.current?.focus();
      area.current?.setSelectionRange(place, place);
      // After a key, its values are offered at once.
      if (area.current && word.endsWith(': ')) ask(area.current, false);
    });
  };
  const press = (event: KeyboardEvent) => {
    const { key, ctrlKey, currentTarget } = event;
    if (ctrlKey && key === ' ') {
      event.preventDefault();
      return ask(currentTarget as HTMLTextAreaElement, true);
    }
    const word = words[chosen];
    if (word === undefined) return;
    const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setOffered({ ...offered, chosen: (chosen + step + words.length) % words.length });
    else if (key === 'Enter' || key === 'Tab') take(word);
    else if (key === 'Escape') close();
    else return;
    event.preventDefault();
  };
  const lines = text.slice(0, from).split('\n');
  return {
    words,
    chosen,
    scroll,
    line: lines.length - 1,
    column: lines.at(-1)?.length ?? 0,
    ask,
    take,
    press,
    close,
  };
}
