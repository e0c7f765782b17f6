import { byteSet } from '../../kernel/bytes.ts';
import type { JsonTokens } from '../json-tokens.ts';
import type { Span } from '../span-map.ts';

/** Names of members that label the value beside them: `{"label": "Passport", "value": "…"}`. */
export const labelNames: ReadonlySet<string> = new Set([
  ...['label', 'name', 'key', 'field', 'fieldname', 'title', 'question', 'property', 'attribute', 'prompt'],
  ...['displayname', 'param', 'parameter', 'header', 'column', 'columnname'],
]);

const memberBytesMax = 32;
const backslash = 0x5c;
const brace = 0x7b;

/** Returns the name of a member in lower case, without `_` and `-`; '' for long names. */
export function memberNameOf(bytes: Buffer, { start, end }: Pick<JsonTokens, 'start' | 'end'>): string {
  if (end - start > memberBytesMax) return '';
  return bytes
    .toString('latin1', start + 1, end - 1)
    .replace(/[_\- \\]/g, '')
    .toLowerCase();
}

const isBracket = byteSet('{}[]');
const isOpening = byteSet('{[');

/**
 * Returns the start of the object that contains `at`; undefined where an array contains it, or none from
 * `from` on does. `whole` is a value to skip, and `reached` tells how far back it looked.
 */
export function enclosingObject(
  bytes: Buffer,
  at: number,
  from: number,
  whole?: Span,
): { object: number | undefined; reached: number } {
  let depth = 0;
  let start = at - 1;
  for (; start >= from; start -= 1) {
    if (start + 1 === whole?.end) start = whole.start - 1;
    const byte = bytes[start] ?? 0;
    if (isBracket[byte] === 0 || bytes[start - 1] === backslash) continue;
    depth += isOpening[byte] === 1 ? -1 : 1;
    if (depth < 0) return { object: byte === brace ? start : undefined, reached: start };
  }
  return { object: undefined, reached: start };
}
