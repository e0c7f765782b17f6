import { GrowingBytes } from '../../util/growing-bytes.ts';
import { type Outline, textFlags } from '../kernel/outline.ts';
import { separator } from './separator.ts';
import { SpanMap } from './span-map.ts';

/**
 * Receives the text of escapes. That text is never longer than the escapes, so a buffer of the source's size
 * suffices.
 */
export class Output {
  readonly bytes: Buffer;
  length = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  push(byte: number): void {
    this.bytes[this.length] = byte;
    this.length += 1;
  }

  /** Appends a code point as UTF-8. */
  pushCodePoint(codePoint: number): void {
    if (codePoint < 0x80) {
      this.push(codePoint);
      return;
    }
    const length = codePoint < 0x800 ? 2 : codePoint < 0x1_0000 ? 3 : 4;
    let shift = 6 * (length - 1);
    this.push(((0xf00 >> length) & 0xff) | (codePoint >> shift));
    while (shift > 0) {
      shift -= 6;
      this.push(0x80 | ((codePoint >> shift) & 0x3f));
    }
  }

  copy(source: Buffer, start: number, end: number): void {
    source.copy(this.bytes, this.length, start, end);
    this.length += end - start;
  }
}

/** Decodes an encoding of single characters. */
export interface EscapeDecoder {
  readonly name: string;
  /** Bytes that such an escape can begin with. */
  readonly leads: readonly number[];
  /**
   * Reads the escape at `at` and appends the text that it stands for, which is never longer. Returns the
   * bytes that the escape takes; 0 where there is none, and -n where there is none in the next n bytes
   * either. It looks at a bounded number of bytes.
   */
  read(bytes: Buffer, at: number, out: Output): number;
}

/** Decoders by the first byte of their escapes; `isLead` rules out most bytes. */
export interface DecoderTable {
  readonly isLead: Uint8Array;
  readonly byLead: readonly (readonly EscapeDecoder[])[];
}

export function decoderTable(decoders: readonly EscapeDecoder[]): DecoderTable {
  const byLead = Array.from({ length: 256 }, (_, lead) =>
    decoders.filter((decoder) => decoder.leads.includes(lead)),
  );
  return { byLead, isLead: Uint8Array.from(byLead, (found) => (found.length > 0 ? 1 : 0)) };
}

export interface Unescaped {
  readonly bytes: Buffer;
  readonly spans: SpanMap;
  readonly names: readonly string[];
}

/** The number of possible escapes between two looks at the clock. */
const checkEvery = 4096;
/** A buffer for the text of one escape, larger than any needs. It is cleared for each escape. */
const decoded = new Output(Buffer.alloc(64));
/**
 * Bound on the bytes beside a value that any detector looks at, and on the bytes of a value that begins
 * there.
 */
const marginBytes = 512;
const valueBytesMax = 4096;
const plus = 0x2b;

/**
 * Returns the escapes' text, without one layer of escapes, and the text around them; undefined where there
 * are none. Text far from escapes was searched already. All encodings are read in one walk, because a view
 * for each, in each order, would multiply the search. `check` is called now and then and may throw.
 */
export function unescapeText(
  bytes: Buffer,
  table: DecoderTable,
  check: () => void,
  outline: Outline,
): Unescaped | undefined {
  const escapes = findEscapes(bytes, table, check, outline);
  return escapes && withoutEscapes(bytes, escapes);
}

/** Escapes from left to right, with the text that they stand for. */
interface Escapes {
  /** Three numbers for each escape: its start, its end, and the end of its text in `plain`. */
  readonly numbers: number[];
  readonly plain: GrowingBytes;
  readonly names: Set<string>;
}

const numbersPerEscape = 3;

function findEscapes(
  bytes: Buffer,
  { isLead, byLead }: DecoderTable,
  check: () => void,
  { flags, places }: Outline,
): Escapes | undefined {
  // The `+` of forms is as frequent as a letter, so the kernel does not list its places.
  const isEverywhere = isLead[plus] === 1 && (flags & textFlags.plus) !== 0;
  const count = isEverywhere ? bytes.length : places.escapes.length;
  let escapes: Escapes | undefined;
  let end = 0;
  for (let index = 0; index < count; index += 1) {
    const at = isEverywhere ? index : (places.escapes[index] as number);
    if (index % checkEvery === checkEvery - 1) check();
    const lead = bytes[at] as number;
    if (at < end || isLead[lead] === 0) continue;
    for (const decoder of byLead[lead] as readonly EscapeDecoder[]) {
      decoded.length = 0;
      const length = decoder.read(bytes, at, decoded);
      if (length === 0) continue;
      end = at + Math.abs(length);
      if (length < 0) break;
      escapes ??= { numbers: [], plain: new GrowingBytes(), names: new Set() };
      escapes.names.add(decoder.name);
      escapes.plain.append(decoded.bytes, 0, decoded.length);
      escapes.numbers.push(at, end, escapes.plain.length);
      break;
    }
  }
  return escapes;
}

/** A part of the text, and the escapes in it. */
interface Region {
  from: number;
  to: number;
  readonly first: number;
  behind: number;
}

function withoutEscapes(bytes: Buffer, escapes: Escapes): Unescaped {
  const { names } = escapes;
  const regions = regionsAround(bytes, escapes);
  const size = regions.reduce((sum, { from, to }) => sum + to - from + separator.length, 0);
  const isWhole = size * 4 > bytes.length * 3;
  const out = new Output(Buffer.allocUnsafe(isWhole ? bytes.length : size));
  const spans = new SpanMap();
  if (isWhole) {
    appendRegion(
      bytes,
      escapes,
      { from: 0, to: bytes.length, first: 0, behind: countOf(escapes) },
      out,
      spans,
    );
  } else
    for (const region of regions) {
      appendRegion(bytes, escapes, region, out, spans);
      spans.addWhole(out.length, region.to, region.to);
      out.copy(separator, 0, separator.length);
    }
  return { bytes: out.bytes.subarray(0, out.length), spans, names: [...names] };
}

const countOf = ({ numbers }: Escapes): number => numbers.length / numbersPerEscape;

const isValueByte = (byte: number | undefined): boolean => byte !== undefined && byte > 0x20;

function regionsAround(bytes: Buffer, escapes: Escapes): readonly Region[] {
  const regions: Region[] = [];
  const { numbers } = escapes;
  let last: Region | undefined;
  for (let index = 0; index < countOf(escapes); index += 1) {
    const start = numbers[index * numbersPerEscape] as number;
    const end = numbers[index * numbersPerEscape + 1] as number;
    if (last && end + marginBytes <= last.to) {
      last.behind = index + 1;
      continue;
    }
    let from = Math.max(0, start - marginBytes);
    let to = Math.min(bytes.length, end + marginBytes);
    for (const stop = Math.max(0, from - valueBytesMax); from > stop && isValueByte(bytes[from - 1]); )
      from -= 1;
    for (const stop = Math.min(bytes.length, to + valueBytesMax); to < stop && isValueByte(bytes[to]); )
      to += 1;
    if (last && from <= last.to) {
      last.to = Math.max(last.to, to);
      last.behind = index + 1;
    } else {
      last = { from, to, first: index, behind: index + 1 };
      regions.push(last);
    }
  }
  return regions;
}

function appendRegion(
  bytes: Buffer,
  { numbers, plain }: Escapes,
  { from, to, first, behind }: Region,
  out: Output,
  spans: SpanMap,
): void {
  const { bytes: plainBytes } = plain;
  let at = from;
  for (
    let number = first * numbersPerEscape;
    number < behind * numbersPerEscape;
    number += numbersPerEscape
  ) {
    const start = numbers[number] as number;
    const end = numbers[number + 1] as number;
    const plainStart = number === 0 ? 0 : (numbers[number - 1] as number);
    const plainEnd = numbers[number + 2] as number;
    appendLiteral(out, spans, bytes, at, start);
    if (plainEnd > plainStart) spans.addWhole(out.length, start, end);
    out.copy(plainBytes, plainStart, plainEnd);
    at = end;
  }
  appendLiteral(out, spans, bytes, at, to);
}

/** Appends a span as it is. */
export function appendLiteral(out: Output, spans: SpanMap, bytes: Buffer, start: number, end: number): void {
  if (start === end) return;
  spans.addLiteral(out.length, start);
  out.copy(bytes, start, end);
}
