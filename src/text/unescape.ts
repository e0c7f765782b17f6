import { blockFlags, type Outline, type Stretch, stretchesOf } from '../scan/outline.ts';
import { SpanMap } from './span-map.ts';

/** What an escape can stand for. Never longer than the escape, so a text of its source's size holds any result. */
export class Output {
  readonly bytes: Buffer;
  length = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
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

/** An encoding that writes single characters in another way. */
export interface EscapeDecoder {
  readonly name: string;
  /** Bytes that such an escape can begin with. */
  readonly leads: readonly number[];
  /**
   * Reads the escape at `at`, appends what it stands for (perhaps nothing, never more than it takes) and tells how many bytes
   * it takes; 0 where there is none, and -n where there is none in the next n bytes either. Looks at a bounded number of bytes.
   */
  read(bytes: Buffer, at: number, out: Output): number;
}

/** Decoders by the byte that their escapes begin with; `isLead` answers for most bytes that there is none. */
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

/** How often a walk looks at the clock, in possible escapes. */
const checkEvery = 4096;
/** What one escape stands for; more than any does. Emptied for each of them. */
const decoded = new Output(64);

/**
 * The whole text with one layer of escapes taken off, or undefined where there are none; what remains is for the next layer.
 * All encodings in one walk, because one view for each of them and for each order of them would multiply what is to be
 * searched. `check` is called now and then and may throw.
 */
export function unescapeText(
  bytes: Buffer,
  table: DecoderTable,
  check: () => void,
  outline: Outline,
): Unescaped | undefined {
  const { isLead, byLead } = table;
  const names = new Set<string>();
  const spans = new SpanMap();
  let out: Output | undefined;
  let literalStart = 0;
  let at = 0;
  let seen = 0;
  for (const { from, to } of leadStretches(bytes, table, outline)) {
    at = nextLead(bytes, Math.max(at, from), to, isLead);
    while (at < to) {
      seen += 1;
      if (seen % checkEvery === 0) check();
      const length = readEscape(bytes, at, byLead[bytes[at] ?? 0] ?? [], decoded, names);
      if (length > 0) {
        out ??= new Output(bytes.length);
        appendLiteral(out, spans, bytes, literalStart, at);
        if (decoded.length > 0) spans.addWhole(out.length, at, at + length);
        out.copy(decoded.bytes, 0, decoded.length);
        literalStart = at + length;
      }
      at = nextLead(bytes, at + Math.max(1, Math.abs(length)), to, isLead);
    }
  }
  if (!out) return undefined;
  appendLiteral(out, spans, bytes, literalStart, bytes.length);
  return { bytes: out.bytes.subarray(0, out.length), spans, names: [...names] };
}

const plus = 0x2b;
const noMargin = { before: 0, after: 0 };

/** Where the escapes of a table can begin. The `+` of forms is as frequent as a letter, and no block is told by it. */
const leadStretches = (bytes: Buffer, { isLead }: DecoderTable, outline: Outline): readonly Stretch[] =>
  isLead[plus] === 1
    ? [{ from: 0, to: bytes.length }]
    : stretchesOf(outline, blockFlags.escaped, bytes.length, noMargin);

function nextLead(bytes: Buffer, from: number, to: number, isLead: Uint8Array): number {
  let at = from;
  while (at < to && isLead[bytes[at] as number] === 0) at += 1;
  return at;
}

function readEscape(
  bytes: Buffer,
  at: number,
  decoders: readonly EscapeDecoder[],
  out: Output,
  names: Set<string>,
): number {
  for (const decoder of decoders) {
    out.length = 0;
    const length = decoder.read(bytes, at, out);
    if (length === 0) continue;
    if (length > 0) names.add(decoder.name);
    return length;
  }
  return 0;
}

/** Appends what stands there as it is. */
export function appendLiteral(out: Output, spans: SpanMap, bytes: Buffer, start: number, end: number): void {
  if (start === end) return;
  spans.addLiteral(out.length, start);
  out.copy(bytes, start, end);
}
