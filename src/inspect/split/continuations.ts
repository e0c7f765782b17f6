import { randomBits } from '../checks/letter-pairs.ts';
import { isPlainValue } from '../checks/plain-values.ts';
import type { Field } from '../decode/fields.ts';
import type { Span } from '../decode/span-map.ts';
import { type DetectorEngine, looksRandom, type PartialSecret } from '../match/engine.ts';
import type { BoundaryMatch, Look, Placed } from '../match/placed.ts';

/*
 * Finds secrets that begin in one field and go on in later ones, whatever the names of these. Pieces are
 * joined one by one, since text behind the last one would spoil the secret. Then they are joined without one
 * field that only looks like a piece.
 */

/** Bounds on one secret: its bytes, its pieces, and the fields between two pieces that can be no pieces. */
const secretBytesMax = 512;
const piecesMax = 64;
const skippedMax = 8;
/** Bound on the fields that are left out in turn because they may only look like pieces. */
const gapsMax = 16;
/**
 * Bounds on the joined texts that are tried, and on those searched in full, for one beginning and for all in
 * one list of fields. What only looks like a beginning must not use up the tries of a secret behind it.
 */
const trialsOfOneMax = 256;
const trialsMax = 2048;
const looksOfOneMax = 16;
const looksMax = 64;
/**
 * The least rarity of a piece, in bits. Generated text has rare pairs of letters, even where all its letters
 * are of one kind.
 */
const pieceBitsMin = 5;
/** Matches MD5, SHA-1, SHA-256 and UUIDs, which any call may have. */
const digest = /^(?:[\da-f]{32}|[\da-f]{40}|[\da-f]{64}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;
/** Matches a beginning behind which hexadecimal digits may go on. */
const beforeDigits = /(?:[\da-f]{8}|[\dA-F]{8}|[^0-9A-Za-z])$/;
const letterG = 0x67;
/** The sign behind a name, and the padding of base64. */
const equalsSign = 0x3d;
/** Matches texts that change when they are decoded. */
const mayBeDecoded = /[%&\\\x80-\xff]/;

interface ContinuationSearch {
  readonly bytes: Buffer;
  readonly fields: readonly Field[];
  readonly partialSecrets: readonly Placed<PartialSecret>[];
}

interface Piece extends Field {
  readonly text: string;
}

/** Returns the matches in joined pieces; `text` is the text of the pieces together. */
type Trial = (pieces: readonly Piece[], text: string) => readonly BoundaryMatch[];

/** Finds the secrets that begin at the end of a field. */
export function findContinued(
  search: ContinuationSearch,
  engine: DetectorEngine,
  look: Look,
): BoundaryMatch[] {
  const { bytes, fields, partialSecrets } = search;
  const found: BoundaryMatch[] = [];
  const firsts = firstFields(search);
  // A later piece, too, may begin with the few characters with which other secrets begin.
  const isFirst = new Set(
    firsts.filter((at, index) => {
      const it = partialSecrets[index];
      return it?.match.isTelling && fields[at]?.start === it.start;
    }),
  );
  const all = [...fields.keys()];
  const byName = Map.groupBy(all, (at) => fields[at]?.name);
  const room = { trials: trialsMax, looks: looksMax };
  for (const [index, partialSecret] of partialSecrets.entries()) {
    if (room.trials === 0 || room.looks === 0) break;
    const at = firsts[index] as number;
    const field = fields[at];
    if (!field) continue;
    const first = { ...field, text: textOf(bytes, field) };
    const tryOut = trialOf(partialSecret, first, look, room);
    const alphabet = engine.tokenOf(partialSecret.match.detector.id)?.alphabet;
    const hasDigests = alphabet?.[letterG] !== 1 || beforeDigits.test(first.text);
    const alike = byName.get(first.name) ?? [];
    const isAlone = alike.length === fields.length;
    for (const among of isAlone ? [all] : [all, alike]) {
      const others = fieldsBehind(fields, at, among, isFirst);
      found.push(...assemble(first, candidates(bytes, first, others, hasDigests), tryOut));
    }
  }
  return found;
}

/** Yields the listed fields behind one, except where another secret begins. Most callers stop early. */
function* fieldsBehind(
  fields: readonly Field[],
  at: number,
  among: readonly number[],
  isFirst: ReadonlySet<number>,
): Generator<Field> {
  for (let place = among.indexOf(at) + 1; place < among.length; place++) {
    const other = among[place] as number;
    if (!isFirst.has(other)) yield fields[other] as Field;
  }
}

/**
 * Returns for each beginning the index of the first field that holds it to its end or to base64 padding; -1
 * where there is none.
 */
function firstFields({ bytes, fields, partialSecrets }: ContinuationSearch): number[] {
  const byEnd = Map.groupBy(fields.keys(), (at) => fields[at]?.end);
  const padded = [...fields.keys()].filter((at) => bytes[fields[at]?.end ?? 0] === equalsSign);
  return partialSecrets.map(({ start, end }) => {
    const holds = (at: number): boolean => {
      const field = fields[at] as Field;
      return field.start <= start && (field.end === end || start < field.end);
    };
    const whole = byEnd.get(end)?.find(holds) ?? -1;
    const before = padded.find(holds) ?? -1;
    return whole < 0 || before < 0 ? Math.max(whole, before) : Math.min(whole, before);
  });
}

/**
 * Creates the trial of one beginning. Its pattern rules out most joined texts in a hundredth of the time of a
 * full search.
 */
function trialOf(
  { match: { detector }, start }: Placed<PartialSecret>,
  first: Piece,
  look: Look,
  room: { trials: number; looks: number },
): Trial {
  const pattern = new RegExp(detector.pattern, `${detector.flags}y`);
  let trialsLeft = Math.min(trialsOfOneMax, room.trials);
  let looksLeft = Math.min(looksOfOneMax, room.looks);
  const offset = start - first.start;
  return (pieces, text) => {
    const isPlain = !mayBeDecoded.test(text);
    const lastFrom = text.length - (pieces.at(-1)?.text.length ?? 0);
    if (trialsLeft === 0 || looksLeft === 0 || (isPlain && lastFrom > offset + detector.bounds.reachMax))
      return [];
    trialsLeft -= 1;
    room.trials -= 1;
    pattern.lastIndex = offset;
    if (isPlain && !(pattern.test(text) && pattern.lastIndex > lastFrom)) return [];
    looksLeft -= 1;
    room.looks -= 1;
    return look(pieces).filter(
      ({ match, spans }) =>
        match.detector === detector && spans.length === pieces.length && areSlices(pieces, spans),
    );
  };
}

/**
 * Returns the fields behind the first piece that may be pieces. Words, numbers and times that stand in any
 * call are none.
 */
function candidates(bytes: Buffer, first: Piece, fields: Iterable<Field>, hasDigests: boolean): Piece[] {
  const pieces: Piece[] = [];
  let length = first.text.length;
  let skipped = 0;
  let isEven = true;
  for (const field of fields) {
    const text = textOf(bytes, field);
    // Pieces of one length under one name are a text that was cut evenly, whatever they look like. Only the
    // last is shorter.
    const isNext: boolean = isEven && field.name === first.name && text.length <= first.text.length;
    isEven = isNext && text.length === first.text.length;
    if (!isNext && !mayBePiece(text, hasDigests)) {
      skipped += 1;
      if (skipped > skippedMax) break;
      continue;
    }
    length += text.length;
    if (length > secretBytesMax || pieces.length === piecesMax) break;
    pieces.push({ ...field, text });
  }
  return pieces;
}

function mayBePiece(text: string, hasDigests: boolean): boolean {
  const [word = ''] = text.trimStart().split(/[\s,;"'<>]/, 1);
  if (!hasDigests && digest.test(word)) return false;
  return randomBits(word) >= pieceBitsMin || (looksRandom(word) && !isPlainValue(word));
}

function assemble(first: Piece, others: readonly Piece[], tryOut: Trial): readonly BoundaryMatch[] {
  let found = grow([first], others, tryOut);
  for (let gap = 0; found.length === 0 && gap < Math.min(gapsMax, others.length - 1); gap += 1)
    found = grow([first, ...others.slice(0, gap)], others.slice(gap + 1), tryOut);
  return found;
}

/** Returns the secret that the first pieces make with as many more pieces as it reaches into. */
function grow(
  continued: readonly Piece[],
  others: readonly Piece[],
  tryOut: Trial,
): readonly BoundaryMatch[] {
  const pieces = [...continued];
  let text = continued.map((it) => it.text).join('');
  let found: readonly BoundaryMatch[] = [];
  for (const piece of others) {
    pieces.push(piece);
    text += piece.text;
    const longer = tryOut(pieces, text);
    if (longer.length === 0 && found.length > 0) break;
    found = longer;
  }
  return found;
}

/** Returns the text of a field, never more than can be put together. */
const textOf = (bytes: Buffer, { start, end }: Span): string =>
  bytes.toString('latin1', start, Math.min(end, start + secretBytesMax + 1));

/** The rarity, in bits, up to which a text is made of words, whatever capitals it has: `startsWith`. */
const wordBitsMax = -6;

const isSlice = (text: string): boolean => {
  const bits = randomBits(text);
  return bits >= pieceBitsMin || (bits > wordBitsMax && looksRandom(text));
};

/** Tells whether pieces look like slices of a token. Names and words behind its beginning do not. */
function areSlices(pieces: readonly Piece[], spans: readonly Span[]): boolean {
  const texts = pieces.slice(1).map(({ text, start }, index) => {
    const { start: from, end: to } = spans[index + 1] ?? { start, end: start };
    return text.slice(from - start, to - start);
  });
  const size = pieces[0]?.text.length ?? 0;
  // Short pieces of one length may look like words by chance, but joined they do not.
  const isEven = texts.every((it, index) => it.length === size || (it.length < size && !texts[index + 1]));
  return isEven ? isSlice(texts.join('')) : texts.every(isSlice) && !areNumberedNames(texts);
}

/** Matches a name with a number behind it, perhaps twice, as columns of a table have: `t1col1`. */
const numberedName = /^[A-Za-z]{1,16}\d{1,3}(?:[A-Za-z]{1,16}\d{1,3})?$/;

/**
 * Tells whether texts are names made of words and numbers. A token that was cut behind digits has letters
 * that are no words.
 */
const areNumberedNames = (texts: readonly string[]): boolean =>
  texts.every((text) => numberedName.test(text)) &&
  texts.reduce((bits, text) => bits + randomBits(text.replace(/\d+/g, '')), 0) < 0;
