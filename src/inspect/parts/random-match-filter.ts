import { kept } from '../../util/kept.ts';
import { grouped } from '../decode/forms/grouped.ts';
import { countBytes, type HighEntropyRegion } from '../decode/high-entropy.ts';
import { encodedAlphabet, runEnd } from '../decode/runs.ts';
import { lastAtOrBefore, type Span } from '../decode/span-map.ts';
import type { View } from '../decode/views.ts';
import { isDigit, isLetter } from '../kernel/bytes.ts';
import type { Match, PartialSecret } from '../match/engine.ts';
import type { Placed } from '../match/placed.ts';
import { proofs } from '../patterns/confidence.ts';

/*
 * Leaves out random matches. Inside a high-entropy region (a picture, an archive) a match is random if it is
 * so short that one region in a thousand shows one. A match counts if a checksum proves it, or if it has a
 * character that the region lacks. It also counts if it comes again and again, since a list of tokens is as
 * random as a picture. Amid text joined from groups, a match is random if the text goes on on both sides.
 */

/**
 * How many bits more than its region's length a match needs. Two to the power of ten is about a thousand, so
 * one region in a thousand shows a random match.
 */
const marginBits = 10;
/**
 * The margin in regions that are literals and for decoded matches. It is larger than `marginBits`, because
 * there are many ways to write the same bytes.
 */
const literalMarginBits = 14;
/** The least share that any of the 64 characters has in random base64: an eighth of its usual share. */
const usualShareMin = 1 / 512;
/** How many matches of a detector in a region may be random: a few, and some times the expected ones. */
const fewMax = 2;
const expectedFactor = 4;

/** Leaves out the random matches among those found in a view. */
export type RandomMatchFilter = <T extends Placed<Match | PartialSecret>>(
  view: View,
  all: readonly T[],
) => readonly T[];

/** Creates the filter for a source and the high-entropy regions in it. */
export function randomMatchFilterIn(
  source: Buffer,
  highEntropyRegions: readonly HighEntropyRegion[],
): RandomMatchFilter {
  // Nearly all sources have no such region.
  const regions = highEntropyRegions.length > 0 ? new Regions(source, highEntropyRegions) : undefined;
  return (view, all) => {
    const left = regions && all.length > 0 ? regions.without(view, all) : all;
    return view.encodings.includes(grouped.name) ? notAmidGroups(view, source, left) : left;
  };
}

/** Judges matches by the high-entropy regions that they lie in. */
class Regions {
  readonly #source: Buffer;
  readonly #sorted: readonly HighEntropyRegion[];
  readonly #starts: readonly number[];
  readonly #files: readonly HighEntropyRegion[];
  readonly #fileStarts: readonly number[];
  /** How often each byte value stands in a region, counted when it is first asked for. */
  readonly #counts = new Map<HighEntropyRegion, Uint32Array>();

  constructor(source: Buffer, regions: readonly HighEntropyRegion[]) {
    this.#source = source;
    this.#sorted = regions.filter((it) => !it.file).sort((a, b) => a.start - b.start);
    this.#starts = this.#sorted.map(({ start }) => start);
    this.#files = outermost(regions.filter((it) => it.file));
    this.#fileStarts = this.#files.map(({ start }) => start);
  }

  /** Returns the matches without those that randomness explains. */
  without<T extends Placed<Match | PartialSecret>>(view: View, all: readonly T[]): readonly T[] {
    const suspects = new Suspects();
    const inFiles = new Set<Match | PartialSecret>();
    for (const { match, start, end } of all) {
      if (this.#saysNothingInFile(view, match, { start, end })) inFiles.add(match);
      const around = this.#regionAround({ start, end });
      if (around && this.#mayBeRandom(view, match, { start, end }, around)) suspects.add(match, around);
    }
    return all.filter(({ match }) => !inFiles.has(match) && !suspects.has(match));
  }

  /** Returns the region that a span lies inside of; undefined where there is none. */
  #regionAround({ start, end }: Span): HighEntropyRegion | undefined {
    const around = this.#sorted[lastAtOrBefore(this.#starts, start - 1)];
    return around && start > around.start && end < around.end ? around : undefined;
  }

  #mayBeRandom(view: View, match: Match | PartialSecret, span: Span, around: HighEntropyRegion): boolean {
    const lengthBits = Math.log2(around.end - around.start);
    if (isProven(match)) return false;
    // A line of a picture in base64 is decoded by itself, too.
    const isDecoded = span.end - span.start !== match.end - match.start;
    const isLikely =
      (around.isLiteral || isDecoded) && bitsOf(view.bytes, match) < lengthBits + literalMarginBits;
    if (isLikely || around.isLiteral) return isLikely;
    return (
      match.detector.randomMatchBits < lengthBits + marginBits &&
      !isLine(match, this.#source, span) &&
      !this.#isUnusual(around, span)
    );
  }

  /**
   * Tells whether a match inside a file proves nothing, since programs and fonts are full of numbers and
   * names. A match counts if a checksum proves it, or if the text of the file around it tells what it is.
   */
  #saysNothingInFile(view: View, match: Match | PartialSecret, span: Span): boolean {
    const file = this.#files[lastAtOrBefore(this.#fileStarts, span.start)];
    if (!file || span.end > file.end || isProven(match)) return false;
    const isDecoded = span.start === file.start && span.end === file.end;
    if (!file.isLiteral && !isDecoded) return !isForeign(this.#source, file, span);
    if (file.file === 'packed') return false;
    const lengthBits = Math.log2(file.end - file.start);
    const { detector } = match;
    return (
      isToldByWords(match) ||
      bitsOf(view.bytes, match) < lengthBits + literalMarginBits ||
      (detector.class === 'SECRETS' && detector.randomMatchBits < lengthBits + marginBits)
    );
  }

  #isUnusual(around: HighEntropyRegion, { start, end }: Span): boolean {
    const count = kept(this.#counts, around, () =>
      countBytes(this.#source.subarray(around.start, around.end)),
    );
    const least = (around.end - around.start) * usualShareMin + (end - start);
    return this.#source.subarray(start, end).some((byte) => (count[byte] as number) < least);
  }
}

function notAmidGroups<T extends Placed<Match | PartialSecret>>(
  view: View,
  source: Buffer,
  all: readonly T[],
): readonly T[] {
  const isAmidGroups = amidGroupsOf(view, source);
  return all.filter((it) => !isAmidGroups(it.match, it));
}

/** Groups the matches of each detector in each region. */
class Suspects {
  readonly #lists = new Map<HighEntropyRegion, Map<string, (Match | PartialSecret)[]>>();
  readonly #listOf = new Map<
    Match | PartialSecret,
    { readonly list: readonly unknown[]; readonly max: number }
  >();

  add(match: Match | PartialSecret, around: HighEntropyRegion): void {
    const { id, randomMatchBits } = match.detector;
    const lists = this.#lists.get(around) ?? new Map<string, (Match | PartialSecret)[]>();
    this.#lists.set(around, lists);
    const list = lists.get(id) ?? [];
    lists.set(id, list);
    list.push(match);
    const expected = around.isLiteral ? 0 : (around.end - around.start) * 2 ** -randomMatchBits;
    this.#listOf.set(match, { list, max: fewMax + expectedFactor * expected });
  }

  /** Tells whether a match is one of so few that randomness explains them. */
  has(match: Match | PartialSecret): boolean {
    const suspect = this.#listOf.get(match);
    return suspect !== undefined && suspect.list.length <= suspect.max;
  }
}

const isProven = (match: Match | PartialSecret): boolean =>
  'confidence' in match &&
  proofs.has(match.detector.check) &&
  match.confidence !== match.detector.failedCheck;

/** Returns files in order, without those that lie within another one. */
function outermost(files: readonly HighEntropyRegion[]): readonly HighEntropyRegion[] {
  let end = 0;
  return files
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter((it) => {
      const isOuter = it.end > end;
      end = Math.max(end, it.end);
      return isOuter;
    });
}

/**
 * Tells whether the detector of a match needs words around the value. In the tables of a program any words
 * may stand there.
 */
const isToldByWords = ({ detector: { keywords, near, isGeneric } }: Match | PartialSecret): boolean =>
  isGeneric || keywords.length + near.length > 0;

/**
 * Match the signs of base64's two alphabets, each of which ends with a pair of its own. No text has signs of
 * both.
 */
const plainSigns = /[+/]/;
const urlSigns = /[_-]/;

function isForeign(source: Buffer, around: Span, { start, end }: Span): boolean {
  const text = source.toString('latin1', start, end);
  const others = urlSigns.test(text) ? plainSigns : plainSigns.test(text) ? urlSigns : undefined;
  return others?.test(source.toString('latin1', around.start, around.end)) ?? false;
}

/** Tells whether a match fills a line and needs no context, so that somebody put it there. */
const isLine = ({ detector }: Match | PartialSecret, source: Buffer, { start, end }: Span): boolean =>
  detector.group === 0 && isLineEnd(source[start - 1]) && isLineEnd(source[end]);

const isLineEnd = (byte: number | undefined): boolean => byte === 0x0a || byte === 0x0d;

/**
 * How many bits of evidence a character gives between random bytes. A letter could mostly be any other
 * letter, a sign only itself.
 */
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

/**
 * How many bits a match needs to prove something in text joined from groups. Such text goes on in many ways:
 * source maps of programs are groups of letters.
 */
const groupedBits = 48;
/**
 * Bound on how much more room groups take than their characters. Shorter groups with a comma behind each take
 * more, and only somebody who hides something writes them.
 */
const groupedRoomMax = 1.4;
const comma = 0x2c;

/**
 * Creates a test whether a match stands amid joined groups that go on on both sides. The last run is kept,
 * since many matches stand in one run.
 */
function amidGroupsOf(
  { bytes }: View,
  source: Buffer,
): (match: Match | PartialSecret, whole: Span) => boolean {
  let run = { start: 0, end: 0, isOfCommas: false };
  return ({ detector, start, end }, whole) => {
    if (detector.randomMatchBits >= groupedBits) return false;
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
