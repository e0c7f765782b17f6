import { styleText } from 'node:util';
import { parseUuid } from '../core/ids.ts';

/* Shapes a table for a person who reads it in a terminal: short ids, cells that fit, colours. */

export interface Terminal {
  readonly columns: number;
}

/** Rows of cells under a line of names. */
type Lines = readonly (readonly string[])[];

const separator = '  ';
const shortIdLength = 8;
/** Characters that a column keeps at least; a column of ids is never cut. */
const widthMin = 5;

type Style = Parameters<typeof styleText>[0];

const styles: Readonly<Record<string, Style>> = {
  ...styled('red', ['DENY', 'CRITICAL', 'denied', 'revoked', 'suspended', 'failed', 'open']),
  ...styled('yellow', ['REQUIRE_APPROVAL', 'HIGH', 'pending', 'investigating', 'expired']),
  ...styled('cyan', ['SANITIZE', 'MEDIUM']),
  ...styled('green', ['ALLOW', 'approved', 'active', 'live', 'enforce']),
};

function styled(style: Style, words: readonly string[]): Record<string, Style> {
  return Object.fromEntries(words.map((word) => [word, style]));
}

/** Returns the table as it fits the terminal. It has no colours where NO_COLOR or the terminal says so. */
export function toTerminalTable([names = [], ...rows]: Lines, { columns }: Terminal): string {
  const short = rows.map((row) => row.map((cell) => (parseUuid(cell) ? cell.slice(0, shortIdLength) : cell)));
  const widths = fit([names, ...short], columns);
  const line = (cells: readonly string[], style: (cell: string) => Style | undefined): string =>
    `${cells
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        const shown = cut(cell, width);
        const used = style(cell);
        const painted = used ? styleText(used, shown, { stream: process.stdout }) : shown;
        return at === cells.length - 1 ? painted : painted + ' '.repeat(width - lengthOf(shown));
      })
      .join(separator)}\n`;
  return [line(names, () => 'bold'), ...short.map((row) => line(row, (cell) => styles[cell]))].join('');
}

const lengthOf = (text: string): number => [...text].length;

function cut(cell: string, width: number): string {
  const points = [...cell];
  return points.length > width ? `${points.slice(0, width - 1).join('')}…` : cell;
}

/** Returns the widths of the columns: what each needs, and less for the widest ones until the line fits. */
function fit(lines: Lines, columns: number): number[] {
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => lengthOf(line[at] ?? ''))));
  const isFixed = (lines[0] ?? []).map((name) => name.endsWith('_id'));
  let over = widths.reduce((sum, it) => sum + it, separator.length * (widths.length - 1)) - columns;
  while (over > 0) {
    const elastic = widths.filter((_, at) => !isFixed[at]);
    const widest = Math.max(0, ...elastic);
    if (widest <= widthMin) break;
    const at = widths.findIndex((it, column) => it === widest && !isFixed[column]);
    const next = Math.max(widthMin, ...elastic.filter((it) => it < widest));
    const less = Math.min(over, Math.max(1, widest - next));
    widths[at] = widest - less;
    over -= less;
  }
  return widths;
}
