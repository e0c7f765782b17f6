import type { Span } from './span-map.ts';

/** The data of a server-sent event. */
export interface EventData {
  /** The data as a reader joins it: the values of its lines with line feeds between them. */
  readonly data: Buffer;
  /** The number of lines that it stands in. */
  readonly lines: number;
  /** Returns the event with other data; its other lines stay. */
  withData(data: Buffer): Buffer;
}

interface DataLine extends Span {
  /** The start of the value, behind the name and one space (HTML Living Standard, 9.2.6). */
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Tells whether the line has a colon; a line may be only the name. */
  readonly hasColon: boolean;
}

/** Matches the name of a line with data and one space behind it; a mark of UTF-8 may stand before the first line. */
const beforeValue = /(?<=^(?:\xef\xbb\xbf)?|[\r\n])data(?:: ?|(?=[\r\n]|$))/g;
const lineEnd = /\r\n|\r|\n|$/g;
const newLine = Buffer.from('\n');
const noBytes = Buffer.alloc(0);

/** Returns the data of an event; undefined where it has none. */
export function eventDataOf(event: Buffer): EventData | undefined {
  const lines = dataLinesOf(event);
  const [first] = lines;
  if (!first) return undefined;
  const values = lines.map((it) => event.subarray(it.valueStart, it.valueEnd));
  const data = values.length === 1 ? (values[0] as Buffer) : joined(values, newLine);
  return {
    data,
    lines: lines.length,
    withData(other) {
      const end = event.subarray(first.valueEnd, first.end);
      const name = Buffer.concat([
        event.subarray(first.start, first.valueStart),
        first.hasColon ? noBytes : Buffer.from(':'),
      ]);
      const written = linesOf(other).map((it) => Buffer.concat([name, it, end]));
      const behind = lines.map((it, index) =>
        event.subarray(it.end, lines[index + 1]?.start ?? event.length),
      );
      return Buffer.concat([event.subarray(0, first.start), ...written, ...behind]);
    },
  };
}

function dataLinesOf(event: Buffer): DataLine[] {
  const text = event.toString('latin1');
  return Array.from(text.matchAll(beforeValue), ({ 0: before, index: start }) => {
    const valueStart = start + before.length;
    lineEnd.lastIndex = valueStart;
    const valueEnd = lineEnd.exec(text)?.index ?? text.length;
    return { start, end: lineEnd.lastIndex, valueStart, valueEnd, hasColon: before.includes(':') };
  });
}

const linesOf = (data: Buffer): Buffer[] =>
  data
    .toString('latin1')
    .split(/\r\n|\r|\n/)
    .map((it) => Buffer.from(it, 'latin1'));

const joined = (values: readonly Buffer[], between: Buffer): Buffer =>
  Buffer.concat(values.flatMap((it, index) => (index === 0 ? [it] : [between, it])));
