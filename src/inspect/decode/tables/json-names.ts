import { byteSet } from '../../kernel/bytes.ts';
import type { JsonTokens } from '../json-tokens.ts';
import type { Span } from '../span-map.ts';

/** Members that say what the value beside them is: `{"label": "Passport", "type": "text", "value": "…"}`. */
export const labelNames: ReadonlySet<string> = new Set([
  ...['label', 'name', 'key', 'field', 'fieldname', 'title', 'question', 'property', 'attribute', 'prompt'],
  ...['displayname', 'param', 'parameter', 'header', 'column', 'columnname'],
]);

const memberBytesMax = 32;
const backslash = 0x5c;
const brace = 0x7b;

/** The name of a member without case, `_` and `-`; empty where it is long. */
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
 * Where the object begins that holds what stands at `at`; undefined where that is an array, or none from `from` on. `whole` is a value that
 * need not be looked into. `reached` is how far back it had to look.
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
