import { useEffect, useRef } from 'preact/hooks';

interface CompletionListOf {
  readonly words: readonly string[];
  readonly chosen: number;
  /** Line and (below) column of the word that is being written, from 0. */
  readonly line: number;
  readonly column: number;
  readonly scroll: { readonly top: number; readonly left: number };
  readonly onChoose: (word: string) => void;
}

export const listId = 'completions';
export const optionId = (index: number): string => `${listId}-${index}`;

/** Shows the words that fit, below the cursor. The text keeps the focus, and tells which word is chosen. */
export function CompletionList({ words, chosen, line, column, scroll, onChoose }: CompletionListOf) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return (
    <div
      ref={list}
      id={listId}
      class="completions"
      role="listbox"
      aria-label="Words that fit here"
      style={{
        top: `calc(${line + 1} * var(--line-height) + 0.7rem - ${scroll.top}px)`,
        left: `calc(${column}ch + 0.6rem - ${scroll.left}px)`,
      }}
    >
      {words.map((word, index) => (
        <div
          key={word}
          id={optionId(index)}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          // Without this, the press would take the focus from the text.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(word);
          }}
        >
          {word}
        </div>
      ))}
    </div>
  );
}
