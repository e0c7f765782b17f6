import { byteSet } from '../../kernel/bytes.ts';
import type { DecodeBudget } from '../budget.ts';
import { runEnd } from '../runs.ts';
import type { Span } from '../span-map.ts';
import { columnsMax, isColumnName, nameBytesMax, type TableReader, type TakeCell } from './cell.ts';

const brace = 0x7b;
const bracket = 0x5b;
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
/** The distance in ASCII between an opening bracket and the one that closes it. */
const toClosing = 2;
const isSpace = byteSet('\t\n\r ');
/** Bounds on the bytes of a key and of a value. Values with spaces are texts. */
const keyBytesMax = 16;
const valueBytesMax = 256;
/** The least number of bytes of a value that is read: many lists have shorter ones, which are words. */
const valueBytesMin = 8;
const spaceMax = 64;
const endsValue = byteSet('" \\');

/** Matches keys that tell the type of a value, its language, or its row. */
const typeKey = /^(?:[SNBsnv]|\$?value|string(?:_?value)?|plain_?text|default|[a-z]{2}-[A-Z]{2})$/i;
const rowKey = /^\d{1,6}$/;

/**
 * Reads values of JSON that stand one level below their name: `{"password": {"S": "…"}}` (DynamoDB, Firestore,
 * parameters of Azure), `{"password": {"0": "…", "1": "…"}}` (columns of pandas) and `{"password": ["…", "…"]}`.
 */
export const jsonValues: TableReader = {
  mayHold: () => true,
  read(bytes, take, budget) {
    for (const opening of [brace, bracket]) readAll(bytes, opening, take, budget);
  },
};

function readAll(bytes: Buffer, opening: number, take: TakeCell, budget: DecodeBudget): void {
  for (let at = bytes.indexOf(opening); at >= 0; at = bytes.indexOf(opening, at + 1)) {
    const name = nameBefore(bytes, at);
    if (!name) continue;
    const { values, end } = valuesIn(bytes, at, opening);
    budget.work(end - name.start);
    if (values.length > 0 && isColumnName(bytes, name)) {
      for (const value of values) if (value.end - value.start >= valueBytesMin) take(name, value);
    }
  }
}

/** Returns the name of the member whose value begins at a place; undefined where none does. */
function nameBefore(bytes: Buffer, start: number): Span | undefined {
  let end = spaceBefore(bytes, start) - 1;
  if (bytes[end] !== colon) return undefined;
  end = spaceBefore(bytes, end) - 1;
  if (bytes[end] !== quote) return undefined;
  let nameStart = end;
  while (nameStart > 0 && end - nameStart <= nameBytesMax && bytes[nameStart - 1] !== quote) nameStart -= 1;
  return bytes[nameStart - 1] === quote ? { start: nameStart, end } : undefined;
}

function spaceBefore(bytes: Buffer, end: number): number {
  let at = end;
  while (end - at < spaceMax && isSpace[bytes[at - 1] ?? 0] === 1) at -= 1;
  return at;
}

/** Returns the strings in an object or an array, if it has nothing else, and the end of what was looked at. */
function valuesIn(bytes: Buffer, start: number, opening: number): { values: readonly Span[]; end: number } {
  const values: Span[] = [];
  let at = start;
  let isTyped = false;
  do {
    at = spaceEnd(bytes, at + 1);
    const key = opening === brace ? stringAt(bytes, at, keyBytesMax) : undefined;
    if (opening === brace) {
      if (!key) return { values: none, end: at };
      at = spaceEnd(bytes, key.end + 1);
      if (bytes[at] !== colon) return { values: none, end: at };
      at = spaceEnd(bytes, at + 1);
    }
    const value = stringAt(bytes, at, valueBytesMax);
    if (!value) return { values: none, end: at };
    if (key) {
      const text = bytes.toString('latin1', key.start, key.end);
      // A value has one type, and a column has many rows.
      isTyped = values.length === 0 && typeKey.test(text);
      if (!isTyped && !rowKey.test(text)) return { values: none, end: at };
    }
    values.push(value);
    at = spaceEnd(bytes, value.end + 1);
  } while (bytes[at] === comma && !isTyped && values.length < columnsMax);
  const isWhole = bytes[at] === opening + toClosing || values.length === columnsMax;
  return { values: isWhole ? values : none, end: at };
}

const none: readonly Span[] = [];

const spaceEnd = (bytes: Buffer, at: number): number => runEnd(bytes, at, isSpace, spaceMax);

/** Returns the content of the string that begins at a place; undefined where none in bounds does. */
function stringAt(bytes: Buffer, start: number, bytesMax: number): Span | undefined {
  if (bytes[start] !== quote) return undefined;
  let end = start + 1;
  while (end - start <= bytesMax && endsValue[bytes[end] ?? quote] === 0) end += 1;
  return bytes[end] === quote && bytes[end - 1] !== backslash ? { start: start + 1, end } : undefined;
}
