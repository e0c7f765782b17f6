import { textFlags } from '../../kernel/outline.ts';
import { JsonTokens } from '../json-tokens.ts';
import type { Span } from '../span-map.ts';
import { isColumnName, type TableReader, type TakeCell } from './cell.ts';
import { enclosingObject, labelNames, memberNameOf } from './json-names.ts';

/** Names of members that hold what a label beside them names. */
const valueNames = new Set(['value', 'values', 'answer', 'answers', 'content', 'text', 'response']);
/**
 * Of which one is looked for, without the quote before it, because quotes stand everywhere, and so do the letters that other names begin
 * with. What has none of these mostly has its label right before its value anyway.
 */
const signs = ['value"', 'values"'].map((it) => Buffer.from(it));
const objectBytesMax = 2048;
/** From one sign to the next that is looked at, where no object was found around it. */
const stride = 512;

/** Objects of JSON that describe a field: `{"label": "Passport", "type": "text", "value": "…"}`. */
export const jsonFields: TableReader = {
  mayHold: ({ flags }) => (flags & textFlags.valueName) !== 0,
  read(bytes, take, budget) {
    for (const sign of signs) {
      let end = 0;
      for (let at = bytes.indexOf(sign); at >= 0; at = bytes.indexOf(sign, end)) {
        const { object } = enclosingObject(bytes, at, Math.max(end, at - objectBytesMax));
        const objectEnd = object === undefined ? 0 : readObject(bytes, object, take);
        const next = objectEnd > at ? objectEnd : at + (object === undefined ? sign.length : stride);
        budget.work(next - end);
        end = next;
      }
    }
  },
};

interface Frame {
  readonly isObject: boolean;
  /** Of an object the member that is read, of an array the one that it is the value of. */
  member: string;
  isValue: boolean;
}

/** Takes what the object says of one field, and answers where it ends; 0 where it is too long. */
function readObject(bytes: Buffer, start: number, take: TakeCell): number {
  const tokens = new JsonTokens(bytes, start);
  const open: Frame[] = [];
  const values: Span[] = [];
  let label: Span | undefined;
  do {
    const kind = tokens.next();
    if (kind === 'end' || tokens.end - start > objectBytesMax) return 0;
    const frame = open.at(-1);
    if (kind === '{') open.push({ isObject: true, member: '', isValue: false });
    else if (kind === '[') open.push({ isObject: false, member: frame?.member ?? '', isValue: true });
    else if (kind === '}' || kind === ']') open.pop();
    else if (!frame) return 0;
    else if (kind === ':') frame.isValue = true;
    else if (kind === ',') frame.isValue = !frame.isObject;
    else if (!frame.isValue) frame.member = memberNameOf(bytes, tokens);
    else {
      const span = contentOf(tokens);
      if (!label && kind === 'string' && isOfField(open, labelNames, true)) label = span;
      else if (isOfField(open, valueNames, false)) values.push(span);
    }
  } while (open.length > 0);
  if (label && isColumnName(bytes, label)) for (const value of values) take(label, value);
  return tokens.end;
}

/** Of a string without its quotes. */
const contentOf = ({ kind, start, end }: JsonTokens): Span =>
  kind === 'string' ? { start: start + 1, end: end - 1 } : { start, end };

/** A member of the object itself; of an object in it where both have such names (`"field": {"title": …}`), or of a list. */
function isOfField(
  [object, inner, ...others]: readonly Frame[],
  names: ReadonlySet<string>,
  isLabel: boolean,
): boolean {
  if (!object || others.length > 0 || !names.has(object.member)) return false;
  return !inner || (inner.isObject ? isLabel && names.has(inner.member) : !isLabel);
}
