import { parsedJson } from '../../util/parsed-json.ts';
import { jsonOutlineOf, type OutlineColumns } from './json-outline.ts';
import { spellJsonString } from './json-tokens.ts';
import { protobufTexts } from './packed/protobuf.ts';
import type { Span } from './span-map.ts';

/** A text in a message, which texts at the same path of later messages may continue. */
export interface MessageText extends Span {
  readonly path: string;
  /** The text without escapes, as its receiver reads it. */
  readonly bytes: Buffer;
}

/** Bound on the texts of a message. One with more is a document, not a piece of a text. */
const textsMax = 64;
const depthMax = 16;
const pathLengthMax = 256;
/** Matches names of ids and times. Their values differ in each message; joined they would be anything. */
const noTexts = /(?:^|_)(?:id|at|time|timestamp|date|created|type|role|object|model)"$|[a-z](?:Id|At|Time)"$/;
const quote = 0x22;

/**
 * Returns the texts of a message: strings of JSON, fields of protobuf, else all of it. A message that only
 * begins like JSON is a piece of a longer text.
 */
export function messageTexts(bytes: Buffer, isProtobuf: boolean): readonly MessageText[] {
  if (isProtobuf)
    return protobufTexts(bytes).map((it) => ({ ...it, bytes: bytes.subarray(it.start, it.end) }));
  const first = bytes.toString('utf8', 0, 64).trimStart()[0] ?? '';
  const isJson = '{["'.includes(first) && parsedJson(bytes.toString()) !== undefined;
  if (!isJson) return [{ path: '', start: 0, end: bytes.length, bytes }];
  return first === '"' ? [onlyString(bytes)] : jsonTexts(bytes);
}

/** Returns the text of a message that is one JSON string. */
function onlyString(bytes: Buffer): MessageText {
  const start = bytes.indexOf(quote);
  const end = bytes.lastIndexOf(quote) + 1;
  return { path: '', start: start + 1, end: end - 1, bytes: stringIn(bytes, start, end) };
}

function jsonTexts(bytes: Buffer): readonly MessageText[] {
  const outline = jsonOutlineOf(bytes, depthMax);
  const entries = textEntries(bytes, outline);
  if (entries.length === 0) return [];
  const numbered = numbersIn(bytes, outline);
  return entries
    .map((entry) => {
      const start = valueStart(bytes, outline, entry);
      const end = outline.ends[entry] as number;
      const path = pathOf(bytes, outline, numbered, entry);
      return { path, start: start + 1, end: end - 1, bytes: stringIn(bytes, start, end) };
    })
    .filter(({ path }) => path.length <= pathLengthMax);
}

/** Returns the entries that are texts; none where there are too many. */
function textEntries(bytes: Buffer, outline: OutlineColumns): readonly number[] {
  const { starts, ends, names } = outline;
  const entries: number[] = [];
  for (let entry = 0; entry < starts.length; entry += 1) {
    const start = valueStart(bytes, outline, entry);
    if (bytes[start] !== quote || (ends[entry] as number) - start <= 2) continue;
    if ((names[entry] as number) >= 0 && noTexts.test(keyOf(bytes, outline, entry))) continue;
    if (entries.length === textsMax) return [];
    entries.push(entry);
  }
  return entries;
}

const stringIn = (bytes: Buffer, start: number, end: number): Buffer =>
  Buffer.from(spellJsonString(bytes, start, end));

const keyOf = (bytes: Buffer, { starts, names }: OutlineColumns, entry: number): string =>
  bytes.toString('utf8', (starts[entry] as number) + 1, names[entry]);

function valueStart(bytes: Buffer, { starts, names }: OutlineColumns, entry: number): number {
  const name = names[entry] as number;
  if (name < 0) return starts[entry] as number;
  let at = name;
  while (at < bytes.length && /[\s:]/.test(String.fromCharCode(bytes[at] as number))) at += 1;
  return at;
}

/**
 * Maps entries of objects to the `index` in them. It says which of several choices, blocks or tool calls an
 * object continues.
 */
function numbersIn(bytes: Buffer, outline: OutlineColumns): ReadonlyMap<number, string> {
  const numbers = new Map<number, string>();
  const { names, parents, ends } = outline;
  for (let entry = 0; entry < names.length; entry += 1) {
    if ((names[entry] as number) < 0 || keyOf(bytes, outline, entry) !== 'index"') continue;
    const number = bytes.toString('latin1', valueStart(bytes, outline, entry), ends[entry]);
    if (/^\d{1,9}$/.test(number)) numbers.set(parents[entry] as number, number);
  }
  return numbers;
}

function pathOf(
  bytes: Buffer,
  outline: OutlineColumns,
  numbered: ReadonlyMap<number, string>,
  entry: number,
): string {
  const steps: string[] = [];
  for (let at = entry; at >= 0; at = outline.parents[at] as number) {
    const name = outline.names[at] as number;
    const number = numbered.get(outline.parents[at] as number);
    const step = name < 0 ? `[${-1 - name}]` : keyOf(bytes, outline, at);
    steps.unshift(number === undefined ? step : `#${number} ${step}`);
  }
  return steps.join('.');
}
