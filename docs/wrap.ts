const widthMax = 118;

/** Breaks the long lines of a generated page between words; lists go on below their text. Code spans stay whole. */
export function wrapLines(page: string): string {
  return page
    .split('\n')
    .flatMap((line) => (line.length > widthMax ? wrapLine(line) : [line]))
    .join('\n');
}

function wrapLine(line: string): readonly string[] {
  const mark = /^ *(?:- )?/.exec(line)?.[0] ?? '';
  const lines: string[] = [];
  let current = mark;
  let isBegun = false;
  for (const [word] of line.slice(mark.length).matchAll(/(?:`[^`]*`|[^\s`])+/g)) {
    if (isBegun && current.length + 1 + word.length > widthMax) {
      lines.push(current);
      current = ' '.repeat(mark.length);
      isBegun = false;
    }
    current += isBegun ? ` ${word}` : word;
    isBegun = true;
  }
  return [...lines, current];
}
