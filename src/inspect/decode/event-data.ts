import { LineEnds } from './line-ends.ts';
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

const fieldName = Buffer.from('data');
const byteOrderMark = Buffer.from('\ufeff');
const colon = 0x3a;
const space = 0x20;
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
  const lines: DataLine[] = [];
  const ends = new LineEnds();
  const mark = event.indexOf(byteOrderMark) === 0 ? byteOrderMark.length : 0;
  let start = mark;
  for (let at = mark; at <= event.length; at += 1) {
    const kind = at < event.length ? ends.take(event[at] as number) : 'end';
    if (kind === 'half') start = at + 1;
    if (kind !== 'end') continue;
    const valueStart = valueStartOf(event, start, at);
    if (valueStart >= 0) {
      const isTwoBytes = event[at] === 0x0d && event[at + 1] === 0x0a;
      const end = Math.min(event.length, at + (isTwoBytes ? 2 : 1));
      lines.push({
        start,
        end,
        valueStart,
        valueEnd: at,
        hasColon: event[start + fieldName.length] === colon,
      });
    }
    start = at + 1;
  }
  return lines;
}

/** Returns the start of the value; -1 where the line is no data line. */
function valueStartOf(event: Buffer, start: number, end: number): number {
  const nameEnd = start + fieldName.length;
  if (nameEnd > end || fieldName.compare(event, start, nameEnd) !== 0) return -1;
  if (nameEnd === end) return end;
  if (event[nameEnd] !== colon) return -1;
  return event[nameEnd + 1] === space && nameEnd + 1 < end ? nameEnd + 2 : nameEnd + 1;
}

const linesOf = (data: Buffer): Buffer[] =>
  data
    .toString('latin1')
    .split(/\r\n|\r|\n/)
    .map((it) => Buffer.from(it, 'latin1'));

const joined = (values: readonly Buffer[], between: Buffer): Buffer =>
  Buffer.concat(values.flatMap((it, index) => (index === 0 ? [it] : [between, it])));
