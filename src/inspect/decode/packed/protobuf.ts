import type { Span } from '../span-map.ts';

/** A text in a protobuf message, with the numbers of the fields that lead to it: `3.1`. */
export interface ProtobufText extends Span {
  readonly path: string;
}

const depthMax = 4;
const textsMax = 32;
const varintBytesMax = 10;
const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/**
 * Returns what may be text in a message of unknown schema. That is every field with a length, and the fields
 * in one that looks like a message. Returns none where the bytes are no message to their end.
 */
export function protobufTexts(bytes: Buffer): readonly ProtobufText[] {
  const texts: ProtobufText[] = [];
  return walk(bytes, { start: 0, end: bytes.length }, '', 0, texts) ? texts : [];
}

/** Walks a message and adds its texts. Returns false where a field is invalid; texts found before stay. */
function walk(
  bytes: Buffer,
  { start, end }: Span,
  path: string,
  depth: number,
  texts: ProtobufText[],
): boolean {
  let at = start;
  while (at < end && texts.length < textsMax) {
    const tag = readVarint(bytes, at, end);
    if (!tag || tag.value < 8) return false;
    const field = `${path}${Math.floor(tag.value / 8)}`;
    const content = contentOf(bytes, tag.value % 8, tag.end, end);
    if (!content) return false;
    if (tag.value % 8 === wireTypes.bytes && content.end > content.start) {
      texts.push({ path: field, ...content });
      if (depth < depthMax) {
        const known = texts.length;
        if (!walk(bytes, content, `${field}.`, depth + 1, texts)) texts.length = known;
      }
    }
    at = content.end;
  }
  return true;
}

function contentOf(bytes: Buffer, wireType: number, at: number, end: number): Span | undefined {
  const fixed = wireType === wireTypes.fixed64 ? 8 : wireType === wireTypes.fixed32 ? 4 : 0;
  if (fixed > 0) return at + fixed <= end ? { start: at, end: at + fixed } : undefined;
  const varint = readVarint(bytes, at, end);
  if (!varint || (wireType !== wireTypes.varint && wireType !== wireTypes.bytes)) return undefined;
  const length = wireType === wireTypes.bytes ? varint.value : 0;
  return varint.end + length <= end ? { start: varint.end, end: varint.end + length } : undefined;
}

function readVarint(bytes: Buffer, from: number, end: number): { value: number; end: number } | undefined {
  let value = 0;
  let factor = 1;
  for (let at = from; at < end && at < from + varintBytesMax; at++) {
    const byte = bytes[at] as number;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return { value, end: at + 1 };
    factor *= 128;
  }
  return undefined;
}
