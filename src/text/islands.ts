import { separator } from './separator.ts';
import { SpanMap } from './span-map.ts';
import type { Unescaped } from './unescape.ts';

/*
 * Escapes are rare in most texts, and a text that stands there without one was read already. So what is read once more is the
 * text around escapes alone: as much of it as any detector looks at beside a value.
 */

const marginBytes = 512;
/** A value that begins beside an escape is read to its end. */
const valueBytesMax = 4096;

const isValueByte = (byte: number | undefined): boolean => byte !== undefined && byte > 0x20;

/** The parts of an unescaped text that lie around its escapes, one behind the other; the whole text where they are most of it. */
export function aroundEscapes({ bytes, spans }: Unescaped): Pick<Unescaped, 'bytes' | 'spans'> {
  const regions = regionsAround(bytes, spans);
  const size = regions.reduce((sum, { from, to }) => sum + to - from + separator.length, 0);
  if (size * 4 > bytes.length * 3) return { bytes, spans };
  const out = Buffer.allocUnsafe(size);
  const map = new SpanMap();
  let length = 0;
  for (const { from, to } of regions) {
    spans.copyTo(map, from, to, length);
    length += bytes.copy(out, length, from, to);
    const end = spans.toSource(to - 1, to).end;
    map.addWhole(length, end, end);
    length += separator.copy(out, length);
  }
  return { bytes: out, spans: map };
}

interface Region {
  from: number;
  to: number;
}

function regionsAround(bytes: Buffer, spans: SpanMap): readonly Region[] {
  const regions: Region[] = [];
  for (const { start, end } of spans.changes(bytes.length)) {
    const last = regions.at(-1);
    if (last && end + marginBytes <= last.to) continue;
    let from = Math.max(0, start - marginBytes);
    let to = Math.min(bytes.length, end + marginBytes);
    for (const stop = Math.max(0, from - valueBytesMax); from > stop && isValueByte(bytes[from - 1]); )
      from -= 1;
    for (const stop = Math.min(bytes.length, to + valueBytesMax); to < stop && isValueByte(bytes[to]); )
      to += 1;
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else regions.push({ from, to });
  }
  return regions;
}
