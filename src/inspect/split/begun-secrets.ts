import { isPlainValue } from '../checks/plain-values.ts';
import { randomBits } from '../checks/randomness.ts';
import type { Field } from '../decode/fields.ts';
import type { Span } from '../decode/span-map.ts';
import { type DetectorEngine, looksRandom, type PartialSecret } from '../match/engine.ts';
import type { BoundaryMatch, Look, Placed } from '../match/placed.ts';

/*
 * Secrets of which one field has the beginning and later ones the rest, whatever their names. The pieces are put together one by one,
 * for what stands behind the last of them would spoil the secret; then once more without one field that only looks like a piece.
 */

/** Of one secret: bytes, pieces, and fields between them that can be no pieces. */
const secretBytesMax = 512;
const piecesMax = 64;
const skippedMax = 8;
/** Pieces that may turn out to be none. */
const gapsMax = 16;
/** Joined texts that are tried for one beginning, and for all in some fields; and those of them that are searched like any other text. */
const trialsOfOneMax = 256;
const trialsMax = 2048;
const looksMax = 32;
/** What a generator draws has rare pairs of letters, even where it has letters of one kind alone. */
const pieceBitsMin = 5;
/** MD5, SHA-1, SHA-256, a UUID: any call may have some. */
const digest = /^(?:[\da-f]{32}|[\da-f]{40}|[\da-f]{64}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;
/** The beginning of a secret behind which hexadecimal digits may go on. */
const beforeDigits = /(?:[\da-f]{8}|[\dA-F]{8}|[^0-9A-Za-z])$/;
const letterG = 0x67;
/** Behind a name, and in base64. */
const equalsSign = 0x3d;
/** Such a text reads otherwise once it is decoded. */
const mayBeDecoded = /[%&\\\x80-\xff]/;

interface BegunSearch {
  readonly bytes: Buffer;
  readonly fields: readonly Field[];
  readonly cutTokens: readonly Placed<PartialSecret>[];
}

interface Piece extends Field {
  readonly text: string;
}

/** Whether pieces, whose texts joined are `text`, are a secret. */
type Trial = (pieces: readonly Piece[], text: string) => readonly BoundaryMatch[];

/** The secrets that begin at the end of a field. */
export function findBegun(search: BegunSearch, engine: DetectorEngine, look: Look): BoundaryMatch[] {
  const { bytes, fields, cutTokens } = search;
  const found: BoundaryMatch[] = [];
  const firsts = firstFields(search);
  // Within a piece, too, a few characters may look like the beginning of another secret.
  const isFirst = new Set(firsts.filter((at, index) => fields[at]?.start === cutTokens[index]?.start));
  const all = [...fields.keys()];
  const byName = Map.groupBy(all, (at) => fields[at]?.name);
  const room = { trials: trialsMax, looks: looksMax };
  for (const [index, cutToken] of cutTokens.entries()) {
    if (room.trials === 0 || room.looks === 0) break;
    const at = firsts[index] as number;
    const field = fields[at];
    if (!field) continue;
    const first = { ...field, text: textOf(bytes, field) };
    const tryOut = trialOf(cutToken, first, look, room);
    const alphabet = engine.tokenOf(cutToken.match.detector.id)?.alphabet;
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

/** Of the fields `among` those behind one, save where another secret begins. Few of them are ever looked at. */
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

/** For each beginning the first field that holds it to its end, or to the padding of base64; -1 where there is none. */
function firstFields({ bytes, fields, cutTokens }: BegunSearch): number[] {
  const byEnd = Map.groupBy(fields.keys(), (at) => fields[at]?.end);
  const padded = [...fields.keys()].filter((at) => bytes[fields[at]?.end ?? 0] === equalsSign);
  return cutTokens.map(({ start, end }) => {
    const holds = (at: number): boolean => {
      const field = fields[at] as Field;
      return field.start <= start && (field.end === end || start < field.end);
    };
    const whole = byEnd.get(end)?.find(holds) ?? -1;
    const before = padded.find(holds) ?? -1;
    return whole < 0 || before < 0 ? Math.max(whole, before) : Math.min(whole, before);
  });
}

/** A pattern tells of most joined texts that they are no secret, in a hundredth of the time that a look takes. */
function trialOf(
  { match: { detector }, start }: Placed<PartialSecret>,
  first: Piece,
  look: Look,
  room: { trials: number; looks: number },
): Trial {
  const pattern = new RegExp(detector.pattern, `${detector.flags}y`);
  let trialsLeft = Math.min(trialsOfOneMax, room.trials);
  const offset = start - first.start;
  return (pieces, text) => {
    const isPlain = !mayBeDecoded.test(text);
    const lastFrom = text.length - (pieces.at(-1)?.text.length ?? 0);
    if (trialsLeft === 0 || room.looks === 0 || (isPlain && lastFrom > offset + detector.bounds.reachMax))
      return [];
    trialsLeft -= 1;
    room.trials -= 1;
    pattern.lastIndex = offset;
    if (isPlain && !(pattern.test(text) && pattern.lastIndex > lastFrom)) return [];
    room.looks -= 1;
    return look(pieces).filter(
      ({ match, spans }) =>
        match.detector === detector && spans.length === pieces.length && areSlices(pieces, spans),
    );
  };
}

/** Of fields behind the first piece those that may be others: not the words, numbers and times that stand in any call. */
function candidates(bytes: Buffer, first: Piece, fields: Iterable<Field>, hasDigests: boolean): Piece[] {
  const pieces: Piece[] = [];
  let length = first.text.length;
  let skipped = 0;
  let isEven = true;
  for (const field of fields) {
    const text = textOf(bytes, field);
    // Of a text cut into pieces of one length, whatever they look like; the last one is what was left.
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

/** The secret that the first pieces make, with as many more as it reaches into. */
function grow(begun: readonly Piece[], others: readonly Piece[], tryOut: Trial): readonly BoundaryMatch[] {
  const pieces = [...begun];
  let text = begun.map((it) => it.text).join('');
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

/** Never longer than what is put together. */
const textOf = (bytes: Buffer, { start, end }: Span): string =>
  bytes.toString('latin1', start, Math.min(end, start + secretBytesMax + 1));

const isSlice = (text: string): boolean => looksRandom(text) || randomBits(text) >= pieceBitsMin;

/** Names and words that happen to stand behind the beginning of a token are no slices of it. */
function areSlices(pieces: readonly Piece[], spans: readonly Span[]): boolean {
  const texts = pieces.slice(1).map(({ text, start }, index) => {
    const { start: from, end: to } = spans[index + 1] ?? { start, end: start };
    return text.slice(from - start, to - start);
  });
  const size = pieces[0]?.text.length ?? 0;
  // Short pieces of one length may look like words by chance; all of them together do not.
  const isEven = texts.every((it, index) => it.length === size || (it.length < size && !texts[index + 1]));
  return isEven ? isSlice(texts.join('')) : texts.every(isSlice);
}
