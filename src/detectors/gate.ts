import { endianness } from 'node:os';
import type { Detector } from './detector.ts';
import { reachOf } from './linear-pattern.ts';
import { type Node, parsePattern } from './pattern-syntax.ts';

/*
 * Most words say something only beside something else: "passport" beside a number, "netlify" beside a key. Prose has neither, so such
 * words are looked for only around what their rules cannot match without: a digit, or a run of characters as tokens have them.
 * Which of the two it is, and how far away, is read off the patterns.
 */

/** What a rule cannot match without. */
export type GateKind = 'digit' | 'token';

export interface Gate {
  readonly kind: GateKind;
  /** How far before and behind it a word of the rule may stand, in bytes. */
  readonly before: number;
  readonly after: number;
}

/** A rule whose words may stand farther away is not worth it. */
const distanceMax = 512;
const runLengthMin = 14;

/** Undefined where the rule may match without either, or too far away from it. */
export function gateOf({ pattern, flags, window, anchors, keywords }: Detector): Gate | undefined {
  const root = parsePattern(pattern, flags.includes('i'));
  const wordLength = Math.max(...[...anchors, ...keywords].map((word) => Buffer.byteLength(word)));
  const gates = (['digit', 'token'] as const).flatMap((kind): Gate[] => {
    const lead = leadTo(root, kind === 'digit' ? isDigit : isRun);
    if (lead === undefined) return [];
    return [{ kind, before: lead + window.after + wordLength, after: window.before + wordLength }];
  });
  return gates.find(({ before, after }) => Math.max(before, after) <= distanceMax);
}

/** Bytes from the start of a match to behind the first part of this kind at most; undefined where a match may have none. */
function leadTo(node: Node, isKind: (node: Node) => boolean): number | undefined {
  if (isKind(node)) return node.kind === 'repeat' ? 0 : 1;
  switch (node.kind) {
    case 'set':
    case 'edge':
      return undefined;
    case 'look':
      return node.behind || node.negative ? undefined : leadTo(node.body, isKind);
    case 'repeat':
      return node.min > 0 ? leadTo(node.item, isKind) : undefined;
    case 'choice': {
      const leads = node.options.map((option) => leadTo(option, isKind));
      return leads.every((lead) => lead !== undefined) ? Math.max(...leads) : undefined;
    }
    case 'sequence': {
      let passed = 0;
      for (const item of node.items) {
        const lead = leadTo(item, isKind);
        if (lead !== undefined) return passed + lead;
        passed += reachOf(item);
      }
      return undefined;
    }
  }
}

const isDigitByte = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isTokenByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[\w+/=.~:-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

const isDigit = (node: Node): boolean =>
  node.kind === 'set' && node.has.every((isIn, byte) => isIn === 0 || isDigitByte(byte));

const isRun = (node: Node): boolean =>
  node.kind === 'repeat' &&
  node.min >= runLengthMin &&
  node.item.kind === 'set' &&
  node.item.has.every((isIn, byte) => isIn === 0 || isTokenByte[byte] === 1);

/** Called with the first byte of a region and the byte behind it. */
type TakeRegion = (from: number, to: number) => void;

/** Calls `take` for every region of the text that is so near to what the gate asks for; regions do not overlap. */
export function eachRegion(bytes: Uint8Array, { kind, before, after }: Gate, take: TakeRegion): void {
  let [from, to] = [0, -1];
  const add = (start: number, end: number): void => {
    if (start - before > to) {
      if (to > from) take(from, to);
      from = Math.max(0, start - before);
    }
    to = Math.min(bytes.length, end + after);
  };
  if (kind === 'digit') eachDigitBlock(bytes, add);
  else eachRun(bytes, add);
  if (to > from) take(from, to);
}

const isLittleEndian = endianness() === 'LE';
const foursPerBlock = 16;
const noFours = new Int32Array(0);

/** Blocks of 64 bytes in which a digit stands; four bytes are looked at at once. */
function eachDigitBlock(bytes: Uint8Array, add: TakeRegion): void {
  const aligned = isLittleEndian ? Math.min(-bytes.byteOffset & 3, bytes.length) : bytes.length;
  const fourCount = (bytes.length - aligned) >> 2;
  if (hasDigit(bytes, 0, aligned)) add(0, aligned);
  // A view of nothing must begin at a multiple of four as well, and the end of a short text may not.
  const fours =
    fourCount === 0 ? noFours : new Int32Array(bytes.buffer, bytes.byteOffset + aligned, fourCount);
  for (let first = 0; first < fourCount; first += foursPerBlock) {
    const end = Math.min(fourCount, first + foursPerBlock);
    for (let index = first; index < end; index++) {
      const four = fours[index] as number;
      // Zero in each byte that begins with the half byte 3; that it is also below 0x3a is asked only then.
      const half = (four & 0xf0f0f0f0) ^ 0x30303030;
      if (((half - 0x01010101) & ~half & 0x80808080) === 0) continue;
      const both = half | ((((four & 0x7f7f7f7f) + 0x06060606) & 0xf0f0f0f0) ^ 0x30303030);
      if (((both - 0x01010101) & ~both & 0x80808080) === 0) continue;
      add(aligned + 4 * first, aligned + 4 * end);
      break;
    }
  }
  const rest = aligned + 4 * fourCount;
  if (hasDigit(bytes, rest, bytes.length)) add(rest, bytes.length);
}

function hasDigit(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (isDigitByte(bytes[at] as number)) return true;
  return false;
}

/** Runs of token characters. Looks at where the end of one would have to be and goes back from there; no byte is read twice. */
function eachRun(bytes: Uint8Array, add: TakeRegion): void {
  const { length } = bytes;
  let start = 0;
  let known = 0;
  for (let last = runLengthMin - 1; last < length; last = start + runLengthMin - 1) {
    let at = last;
    while (at >= known && isTokenByte[bytes[at] as number] === 1) at--;
    const isRunSoFar = at < known;
    known = last + 1;
    if (!isRunSoFar) {
      start = at + 1;
      continue;
    }
    let end = known;
    while (end < length && isTokenByte[bytes[end] as number] === 1) end++;
    add(start, end);
    start = end + 1;
    known = start;
  }
}
