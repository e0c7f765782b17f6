import { grouped } from '../decode/forms/grouped.ts';
import { countBytes, type Noise } from '../decode/noise.ts';
import { encodedAlphabet, runEnd } from '../decode/runs.ts';
import { lastAtOrBefore, type Span } from '../decode/span-map.ts';
import type { View } from '../decode/views.ts';
import { isDigit, isLetter } from '../kernel/bytes.ts';
import type { Match, PartialSecret } from '../match/engine.ts';
import type { Placed } from '../match/placed.ts';
import { proofs } from '../patterns/confidence.ts';

/*
 * What of a content is found by chance. Inside of what is as good as random (a picture, an archive), it is whatever is so short that one such
 * content in a thousand shows it; save what proves itself by a checksum, what has a character that the rest has not, and what comes again
 * and again, for a list of tokens is as random as a picture. And amid groups that were put together it is what goes on on both sides.
 */

/** Two to the power of ten are a thousand. */
const marginBits = 10;
/** Between bytes there are many ways to write the same. */
const literalMarginBits = 14;
/** Of 64 characters each is an eighth as frequent at least. */
const usualShareMin = 1 / 512;
/** Of one detector in one content: more than this, and than four times what is to be expected, is no chance. */
const fewMax = 2;
const expectedFactor = 4;

/** Leaves out of what was found in a view what stands there by chance. */
export type WithoutChance = <T extends Placed<Match | PartialSecret>>(
  view: View,
  all: readonly T[],
) => readonly T[];

/** For a source and the noise in it. */
export function withoutChanceIn(source: Buffer, noise: readonly Noise[]): WithoutChance {
  // Nearly always there is none.
  if (noise.length === 0)
    return (view, all) => (view.encodings.includes(grouped.name) ? notAmidGroups(view, source, all) : all);
  const sorted = noise.filter((it) => !it.file).sort((a, b) => a.start - b.start);
  const starts = sorted.map(({ start }) => start);
  const files = outermost(noise.filter((it) => it.file));
  const fileStarts = files.map(({ start }) => start);
  const counts = new Map<Noise, Uint32Array>();

  /** The noise that a span lies inside of. */
  function noiseAround({ start, end }: Span): Noise | undefined {
    const around = sorted[lastAtOrBefore(starts, start - 1)];
    return around && start > around.start && end < around.end ? around : undefined;
  }

  function mayBeChance(view: View, match: Match | PartialSecret, span: Span, around: Noise): boolean {
    const lengthBits = Math.log2(around.end - around.start);
    if (isProven(match)) return false;
    // A line of a picture in base64 is decoded by itself, too.
    const isDecoded = span.end - span.start !== match.end - match.start;
    const isLikely =
      (around.isLiteral || isDecoded) && bitsOf(view.bytes, match) < lengthBits + literalMarginBits;
    if (isLikely || around.isLiteral) return isLikely;
    return (
      match.detector.chanceBits < lengthBits + marginBits &&
      !isLine(match, source, span) &&
      !isUnusual(around, span)
    );
  }

  /** In a program or a font all is numbers and names. What counts proves itself, or shows what it is in the text between them. */
  function saysNothingInFile(view: View, match: Match | PartialSecret, span: Span): boolean {
    const file = files[lastAtOrBefore(fileStarts, span.start)];
    if (!file || span.end > file.end || isProven(match)) return false;
    const isDecoded = span.start === file.start && span.end === file.end;
    if (!file.isLiteral && !isDecoded) return !isForeign(source, file, span);
    if (file.file === 'packed') return false;
    const lengthBits = Math.log2(file.end - file.start);
    const { detector } = match;
    return (
      isToldByWords(match) ||
      bitsOf(view.bytes, match) < lengthBits + literalMarginBits ||
      (detector.class === 'SECRETS' && detector.chanceBits < lengthBits + marginBits)
    );
  }

  function isUnusual(around: Noise, { start, end }: Span): boolean {
    const count = counts.get(around) ?? countBytes(source.subarray(around.start, around.end));
    counts.set(around, count);
    const least = (around.end - around.start) * usualShareMin + (end - start);
    return source.subarray(start, end).some((byte) => (count[byte] as number) < least);
  }

  return (view, all) => {
    const isGrouped = view.encodings.includes(grouped.name);
    if (all.length === 0) return all;
    const suspects = new Suspects();
    const inFiles = new Set<Match | PartialSecret>();
    for (const { match, start, end } of all) {
      if (saysNothingInFile(view, match, { start, end })) inFiles.add(match);
      const around = noiseAround({ start, end });
      if (around && mayBeChance(view, match, { start, end }, around)) suspects.add(match, around);
    }
    const left = all.filter(({ match }) => !inFiles.has(match) && !suspects.has(match));
    return isGrouped ? notAmidGroups(view, source, left) : left;
  };
}

function notAmidGroups<T extends Placed<Match | PartialSecret>>(
  view: View,
  source: Buffer,
  all: readonly T[],
): readonly T[] {
  const isAmidGroups = amidGroupsOf(view, source);
  return all.filter((it) => !isAmidGroups(it.match, it));
}

/** Matches that one noise shows of one detector. */
class Suspects {
  readonly #lists = new Map<Noise, Map<string, (Match | PartialSecret)[]>>();
  readonly #listOf = new Map<
    Match | PartialSecret,
    { readonly list: readonly unknown[]; readonly max: number }
  >();

  add(match: Match | PartialSecret, around: Noise): void {
    const { id, chanceBits } = match.detector;
    const lists = this.#lists.get(around) ?? new Map<string, (Match | PartialSecret)[]>();
    this.#lists.set(around, lists);
    const list = lists.get(id) ?? [];
    lists.set(id, list);
    list.push(match);
    const expected = around.isLiteral ? 0 : (around.end - around.start) * 2 ** -chanceBits;
    this.#listOf.set(match, { list, max: fewMax + expectedFactor * expected });
  }

  /** Whether a match is one of so few that chance explains them. */
  has(match: Match | PartialSecret): boolean {
    const suspect = this.#listOf.get(match);
    return suspect !== undefined && suspect.list.length <= suspect.max;
  }
}

const isProven = (match: Match | PartialSecret): boolean =>
  'confidence' in match &&
  proofs.has(match.detector.check) &&
  match.confidence !== match.detector.failedCheck;

/** In their order, without those that lie within another one. */
function outermost(files: readonly Noise[]): readonly Noise[] {
  let end = 0;
  return files
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter((it) => {
      const isOuter = it.end > end;
      end = Math.max(end, it.end);
      return isOuter;
    });
}

/** By words around it, which may be any in the tables of a program. */
const isToldByWords = ({ detector: { keywords, near, isGeneric } }: Match | PartialSecret): boolean =>
  isGeneric || keywords.length + near.length > 0;

/** Base64 has either pair of its last two signs, never one of both. */
const plainSigns = /[+/]/;
const urlSigns = /[_-]/;

function isForeign(source: Buffer, around: Span, { start, end }: Span): boolean {
  const text = source.toString('latin1', start, end);
  const others = urlSigns.test(text) ? plainSigns : plainSigns.test(text) ? urlSigns : undefined;
  return others?.test(source.toString('latin1', around.start, around.end)) ?? false;
}

/** What fills a line from its first character to its last was put there, if its own characters tell what it is. */
const isLine = ({ detector }: Match | PartialSecret, source: Buffer, { start, end }: Span): boolean =>
  detector.group === 0 && isLineEnd(source[start - 1]) && isLineEnd(source[end]);

const isLineEnd = (byte: number | undefined): boolean => byte === 0x0a || byte === 0x0d;

/** Of what stands between bytes, where any byte is as likely: a letter may mostly be any other, and a sign that one alone. */
const letterBits = 2;
const digitBits = 3;
const signBits = 6;
const highBits = 1;

function bitsOf(bytes: Buffer, { start, end }: Span): number {
  let bits = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    const ofSign = byte < 0x80 ? signBits : highBits;
    bits += isLetter(byte) ? letterBits : isDigit(byte) ? digitBits : ofSign;
  }
  return bits;
}

/** What is put together of groups has so many ways to go on that fewer bits say nothing: the mappings of a program are groups of letters. */
const groupedBits = 48;
/** Groups of fewer characters, with a comma behind each, take up more room: nobody but who hides something writes such. */
const groupedRoomMax = 1.4;
const comma = 0x2c;

/** Whether a match stands amid groups that were put together, and goes on on both sides. Many stand in one run, which is gone through once. */
function amidGroupsOf(
  { bytes }: View,
  source: Buffer,
): (match: Match | PartialSecret, whole: Span) => boolean {
  let run = { start: 0, end: 0, isOfCommas: false };
  return ({ detector, start, end }, whole) => {
    if (detector.chanceBits >= groupedBits) return false;
    if (encodedAlphabet[bytes[start - 1] ?? 0] !== 1 || encodedAlphabet[bytes[end] ?? 0] !== 1) return false;
    if (start < run.start || end > run.end)
      run = {
        start: runStart(bytes, start),
        end: runEnd(bytes, end, encodedAlphabet),
        isOfCommas: source.subarray(whole.start, whole.end).includes(comma),
      };
    return run.isOfCommas && whole.end - whole.start < (run.end - run.start) * groupedRoomMax;
  };
}

function runStart(bytes: Buffer, end: number): number {
  let start = end;
  while (start > 0 && encodedAlphabet[bytes[start - 1] as number] === 1) start -= 1;
  return start;
}
