/* Shows what differs between two texts, line by line. */

interface Line {
  readonly mark: ' ' | '+' | '-';
  readonly text: string;
}

const cellsMax = 4_000_000;

/** Returns the shortest way from one text to the other; of texts that are too long, all lines of both. */
function diffLines(before: string, after: string): readonly Line[] {
  const old = before === '' ? [] : before.split('\n');
  const young = after === '' ? [] : after.split('\n');
  if (old.length * young.length > cellsMax)
    return [
      ...old.map((text): Line => ({ mark: '-', text })),
      ...young.map((text): Line => ({ mark: '+', text })),
    ];
  const width = young.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = young.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        old[i] === young[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < young.length) {
    if (i < old.length && j < young.length && old[i] === young[j]) {
      lines.push({ mark: ' ', text: old[i] ?? '' });
      i += 1;
      j += 1;
    } else if (j >= young.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ mark: '-', text: old[i] ?? '' });
      i += 1;
    } else {
      lines.push({ mark: '+', text: young[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}

/** Lines that are shown around what differs. */
const around = 3;

/** Leaves out the lines far from any difference; `undefined` stands for them. */
function near(lines: readonly Line[]): readonly (Line | undefined)[] {
  const isNear = (at: number): boolean =>
    lines.slice(Math.max(0, at - around), at + around + 1).some((it) => it.mark !== ' ');
  const shown: (Line | undefined)[] = [];
  for (const [at, line] of lines.entries()) {
    if (isNear(at)) shown.push(line);
    else if (shown.at(-1) !== undefined || shown.length === 0) shown.push(undefined);
  }
  return shown;
}

const words = { ' ': 'same', '+': 'added', '-': 'removed' } as const;

export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = diffLines(before, after);
  if (lines.every((it) => it.mark === ' ')) return <p class="faint">Nothing differs.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section class="diff-box" tabIndex={0} aria-label={label}>
      <pre class="diff">
        {near(lines).map((line, index) => (
          <span key={index} class={`line ${line ? words[line.mark] : 'left-out'}`}>
            {line ? `${line.mark} ${line.text}` : '  ⋯'}
            {'\n'}
          </span>
        ))}
      </pre>
    </section>
  );
}
