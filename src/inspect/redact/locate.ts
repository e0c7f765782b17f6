import type { BodyFormat } from '../decode/body-format.ts';
import { JsonOutline, type OutlineColumns } from '../decode/json-outline.ts';
import { type JsonTokenKind, JsonTokens, spellJsonString } from '../decode/json-tokens.ts';
import { lastAtOrBefore, type Span } from '../decode/span-map.ts';
import { mergeCuts } from './cuts.ts';

/** Tells where in a text an offset lies, in a form for people. */
export type Locator = (offset: number) => string;

const nameLengthMax = 64;
const pathLengthMax = 256;
/** Bound on the segments of a path. Each has at least two characters, so a path can show no more. */
const segmentsMax = pathLengthMax / 2;
/** Bound on the bytes read of a name. They suffice for `nameLengthMax` characters written as escapes. */
const nameBytesMax = 6 * nameLengthMax + 2;
const hiddenName = '[REDACTED]';
const ampersand = 0x26;
const equalsSign = 0x3d;

/**
 * Creates a locator. In JSON it returns a path (`$.messages[0].content`, `$['odd name']`), in a form
 * `$.field`, else `$`. An offset in a key has the path of the key's value. The text is walked once, without
 * recursion.
 *
 * Names come from the caller's content. Each is cut to 64 characters and the path to 256; control characters
 * are escaped. A name that holds the offset or touches one of the `hidden` spans is not shown.
 */
export function createLocator(format: BodyFormat, bytes: Buffer, hidden: readonly Span[] = []): Locator {
  const isHidden = hiddenTest(bytes, hidden);
  if (format === 'json') return createJsonLocator(bytes, isHidden);
  if (format === 'form') return (offset) => locateInForm(bytes, offset, isHidden);
  return () => '$';
}

function createJsonLocator(bytes: Buffer, isHidden: HiddenTest): Locator {
  const outline = new JsonOutline(bytes, segmentsMax);
  return (offset) => {
    outline.reachTo(offset);
    const path: number[] = [];
    let entry = lastAtOrBefore(outline.starts, offset);
    while (entry >= 0) {
      if (path.length > 0 || offset < (outline.ends[entry] ?? 0)) path.push(entry);
      entry = outline.parents[entry] ?? -1;
    }
    return toPath(path.reverse().map((it) => segmentOf(bytes, outline, it, offset, isHidden)));
  };
}

function segmentOf(
  bytes: Buffer,
  outline: OutlineColumns,
  entry: number,
  offset: number,
  isHidden: HiddenTest,
): string {
  const name = outline.names[entry] ?? -1;
  if (name < 0) return `[${-1 - name}]`;
  const start = outline.starts[entry] ?? 0;
  if (isHidden(start, name, offset)) return nameSegment(hiddenName);
  return nameSegment(spellJsonString(bytes, start, Math.min(name, start + nameBytesMax)));
}

function locateInForm(bytes: Buffer, offset: number, isHidden: HiddenTest): string {
  const start = bytes.subarray(0, offset).lastIndexOf(ampersand) + 1;
  const next = bytes.indexOf(ampersand, offset);
  const pair = bytes.subarray(start, next < 0 ? bytes.length : next);
  const nameLength = pair.includes(equalsSign) ? pair.indexOf(equalsSign) : pair.length;
  if (isHidden(start, start + nameLength, offset)) {
    return toPath([nameSegment(hiddenName)]);
  }
  const raw = pair.toString('utf8', 0, Math.min(nameLength, nameBytesMax));
  return toPath([nameSegment([...new URLSearchParams(raw).keys()][0] ?? '')]);
}

/** Tells whether a name from `start` to `end` must be hidden in the path of `offset`. */
type HiddenTest = (start: number, end: number, offset: number) => boolean;

function hiddenTest(bytes: Buffer, hidden: readonly Span[]): HiddenTest {
  const merged = mergeCuts(
    bytes,
    hidden.map(({ start, end }) => ({ start, end, label: '' })),
  );
  const starts = merged.map((span) => span.start);
  return (start, end, offset) =>
    (offset >= start && offset < end) || (merged[lastAtOrBefore(starts, end - 1)]?.end ?? 0) > start;
}

function nameSegment(name: string): string {
  if (/^[A-Za-z_$][\w$]{0,63}$/.test(name)) return `.${name}`;
  const escaped = name
    .slice(0, nameLengthMax + 1)
    .replace(/[\\']/g, '\\$&')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return `['${cut(escaped, nameLengthMax)}']`;
}

function toPath(segments: readonly string[]): string {
  return cut(`$${segments.join('')}`, pathLengthMax);
}

function cut(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1).toWellFormed()}…` : text.toWellFormed();
}

/**
 * Returns the span of a top-level member's value in a JSON object; undefined where there is none. The last
 * member of a name counts, as in `JSON.parse`, and names are compared unescaped. The text must be JSON.
 */
export function jsonValueSpan(bytes: Buffer, key: string): Span | undefined {
  const keyBytesMax = 6 * key.length + 2;
  const tokens = new JsonTokens(bytes);
  if (tokens.next() !== '{') return undefined;
  let found: Span | undefined;
  while (tokens.next() === 'string') {
    const isKey =
      tokens.end - tokens.start <= keyBytesMax && spellJsonString(bytes, tokens.start, tokens.end) === key;
    if (tokens.next() !== ':') return undefined;
    tokens.next();
    const { start } = tokens;
    if (!skipValue(tokens)) return undefined;
    if (isKey) found = { start, end: tokens.end };
    if (tokens.next() !== ',') break;
  }
  return found;
}

/** Returns the spans of a JSON array's elements; none if it is no array. The text must be JSON. */
export function jsonElementSpans(bytes: Buffer): Span[] {
  const tokens = new JsonTokens(bytes);
  const spans: Span[] = [];
  if (tokens.next() !== '[' || tokens.next() === ']') return spans;
  do {
    const { start } = tokens;
    if (!skipValue(tokens)) return spans;
    spans.push({ start, end: tokens.end });
  } while (tokens.next() === ',' && tokens.next() !== 'end');
  return spans;
}

/** Moves from the first token of a value to its last. Returns false where the text ends before. */
function skipValue(tokens: JsonTokens): boolean {
  let depth = nesting(tokens.kind);
  while (depth > 0) {
    if (tokens.next() === 'end') return false;
    depth += nesting(tokens.kind);
  }
  return tokens.kind !== 'end';
}

function nesting(kind: JsonTokenKind): number {
  if (kind === '{' || kind === '[') return 1;
  return kind === '}' || kind === ']' ? -1 : 0;
}

/** Tells whether a JSON text nests deeper than `max`, so that it should be neither parsed nor walked. */
export function jsonDepth(bytes: Buffer, max: number): boolean {
  const tokens = new JsonTokens(bytes);
  let depth = 0;
  while (tokens.next() !== 'end') {
    depth += nesting(tokens.kind);
    if (depth > max) return true;
  }
  return false;
}
