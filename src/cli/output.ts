import { once } from 'node:events';
import { type Terminal, toTerminalTable } from './terminal-table.ts';

/* Commands print names, notes and URLs of agents, which must not steer the terminal of their reader. */

/** Matches control characters, those that turn direction or have no width, separators, lone surrogates. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Returns the text with every character that a terminal would obey instead of show as `\u{…}`. */
export const printable = (text: string): string =>
  text.replace(unprintable, (it) => `\\u{${it.codePointAt(0)?.toString(16)}}`);

/** Returns a text of several lines, each of them printable. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** Returns a value as JSON, with unprintable characters escaped, on one line unless it is indented. */
export const toJson = (value: unknown, indent = 0): string => toSafeJson(JSON.stringify(value, null, indent));

/** Returns a text of JSON, or whole characters of one, with unprintable characters escaped. */
export const toSafeJson = (json: string): string =>
  json.replace(unprintable, (it) => (it === '\n' ? it : escapeUnits(it)));

/** Returns the text of a file as it is or, where it goes to a terminal, with unprintable characters shown. */
export const toSafeFile = (text: string): string =>
  process.stdout.isTTY ? printableLines(text.replaceAll('\r\n', '\n')) : text;

const escapeUnits = (text: string): string =>
  Array.from(
    { length: text.length },
    (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

const cellLengthMax = 80;
const separator = '  ';

type Row = Readonly<Record<string, unknown>>;

function toCell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(toCell).join(', ');
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function toShortCell(value: unknown): string {
  const points = [...toCell(value)];
  return points.length > cellLengthMax ? `${points.slice(0, cellLengthMax - 1).join('')}…` : points.join('');
}

/** Returns the terminal that standard output goes to; undefined if it is none, or whole cells are wanted. */
export const terminal = (isWide = false): Terminal | undefined =>
  process.stdout.isTTY && !isWide ? { columns: process.stdout.columns } : undefined;

/**
 * Returns a table: a line for each row under a line of names. Every column is as wide as it must be, and a
 * cell has at most 80 characters. In a terminal, no line is longer than that is wide.
 */
export function toTable(rows: readonly Row[], columns: readonly string[], shownIn?: Terminal): string {
  const lines = [columns, ...rows.map((row) => columns.map((name) => toShortCell(row[name])))];
  if (shownIn) return toTerminalTable(lines, shownIn);
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => [...(line[at] ?? '')].length)));
  return lines
    .map((line) => `${line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(separator)}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('');
}

/** Returns the line of one row, where the rows that follow are not known. */
export const toTableLine = (row: Row, columns: readonly string[]): string =>
  `${columns.map((name) => toShortCell(row[name])).join(separator)}\n`;

/** Returns a line for each field. Lists of records or sentences, and records, have a line for each part. */
export function toFacts(record: Row): string {
  const facts = Object.entries(record).flatMap(withParts);
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts
    .flatMap(([name, value]) => valuesOf(value).map((it, at) => [at === 0 ? name : '', it] as const))
    .map(([name, value]) => `${name.padEnd(width)}${separator}${toCell(value)}\n`)
    .join('');
}

/** Returns the fields of a record as fields of their own, `name.part`; any other field as it is. */
const withParts = ([name, value]: readonly [string, unknown]): readonly (readonly [string, unknown])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    ? Object.entries(value).map(([part, it]) => [`${name}.${part}`, it] as const)
    : [[name, value]];

const valuesOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) && value.some((it) => typeof it === 'object' || String(it).includes(' '))
    ? value
    : [value];

/** Writes to standard output and waits until it has room again. What cannot be written ends the command. */
export async function print(text: string): Promise<void> {
  if (!write(text)) await once(process.stdout, 'drain');
}

/** Writes to standard output without waiting. Tells whether there is room for more. */
export function write(text: string): boolean {
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', leave);
  return process.stdout.write(text);
}

/** Ends the command. A reader that has seen enough, as `head` has, is no failure; a full disk is one. */
function leave(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit();
  note(`postern: the output cannot be written: ${error.message}`);
  process.exit(1);
}

/**
 * Prints a remark for people on standard error, outside of the output. It may quote files and arguments that
 * strangers wrote.
 */
export const note = (text: string): void => {
  process.stderr.write(`${printableLines(text)}\n`);
};
