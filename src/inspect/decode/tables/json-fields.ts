import { textFlags } from '../../kernel/outline.ts';
import { JsonTokens } from '../json-tokens.ts';
import type { Span } from '../span-map.ts';
import { isColumnName, type TableReader, type TakeCell } from './cell.ts';
import { enclosingObject, labelNames, memberNameOf } from './json-names.ts';

/** Names of members whose value is labelled by a member beside them. */
const valueNames = new Set(['value', 'values', 'answer', 'answers', 'content', 'text', 'response']);
/**
 * Signs of such values. They lack the quote before them, since quotes and the first letters of other names
 * stand everywhere. In objects with other names the label mostly stands right before its value.
 */
const signs = ['value"', 'values"'].map((it) => Buffer.from(it));
const objectBytesMax = 2048;
/** The number of bytes to the next sign that is looked at, behind one whose object gave nothing. */
const stride = 512;

/** Reads JSON objects that describe a field: `{"label": "Passport", "type": "text", "value": "…"}`. */
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
  /** The name of the current member of an object, or of the member whose value an array is. */
  member: string;
  isValue: boolean;
}

/**
 * Takes the values of one object with its label, and returns its end; 0 where it is too long or no object.
 */
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
      const span = tokens.content;
      if (!label && kind === 'string' && isOfField(open, labelNames, true)) label = span;
      else if (isOfField(open, valueNames, false)) values.push(span);
    }
  } while (open.length > 0);
  if (label && isColumnName(bytes, label)) for (const value of values) take(label, value);
  return tokens.end;
}

/**
 * Tells whether a value belongs to a member with such a name. The member is of the object itself. A label may
 * also stand in an inner object, under two such names; a value may stand in a list.
 */
function isOfField(
  [object, inner, ...others]: readonly Frame[],
  names: ReadonlySet<string>,
  isLabel: boolean,
): boolean {
  if (!object || others.length > 0 || !names.has(object.member)) return false;
  return !inner || (inner.isObject ? isLabel && names.has(inner.member) : !isLabel);
}
