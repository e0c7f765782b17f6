import { byteSet, digits, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { runKinds } from '../../kernel/outline.ts';
import { bitCode, decodeBits, holdsText } from '../bits.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { isCompressedStart, mayInflateUnmarked } from '../packed/compression.ts';
import { runEnd, runLengthMin } from '../runs.ts';
import type { Span } from '../span-map.ts';

const letters = upperCase + lowerCase + digits;
const code = bitCode(6, `${letters}+/`, `${letters}-_`);
const padding = 0x3d;
const newline = 0x0a;
const carriageReturn = 0x0d;
/**
 * Bound on the bytes of a value that is also read without its last line; a longer one loses little by a
 * spoilt end.
 */
const linesBytesMax = 4096;
/** Characters that may stand behind the last line of a value. */
const endsValue = byteSet('\r\n"\'`\\<>()[]{}*|');

/**
 * The least number of characters of text in a value. Eight are hardly an accident: 1 in 300 short identifiers
 * decodes to so many.
 */
const textMin = 8;
/**
 * The least number of characters of text where the start is a guess. The second is for a long run, which
 * contains more text by accident.
 */
const guessedTextMin = 12;
const guessedTextMinLong = 20;
const shortLength = 512;
const slash = 0x2f;
/**
 * Kinds of characters that prove a run is not only digits, hex or words. Text in base64 never uses only the
 * 23 characters of digests and UUIDs. It hardly ever uses only small letters, because hardly any text has
 * such bytes.
 */
const kinds = { notHex: 1, notWord: 2, slash: 4 } as const;
const kindsOf = kindTable();

function kindTable(): Uint8Array {
  const isHex = byteSet('0123456789abcdefABCDEF-\r\n');
  const isWord = byteSet(`${lowerCase}-_/\r\n\t `);
  return Uint8Array.from({ length: 256 }, (_, byte) => {
    const some = (isHex[byte] === 1 ? 0 : kinds.notHex) | (isWord[byte] === 1 ? 0 : kinds.notWord);
    return some | (byte === slash ? kinds.slash : 0);
  });
}

/** Returns all kinds of characters in a run, as bits. */
function kindsIn(bytes: Buffer, start: number, end: number): number {
  let some = 0;
  for (let at = start; at < end; at += 1) some |= kindsOf[bytes[at] as number] as number;
  return some;
}

/**
 * The last of the places in a run from which it is read. Four characters are three bytes, so text behind any
 * prefix begins at one of them.
 */
const lastPhase = 3;
/** Bound on the segments of a path; packed content stands in one of the first. */
const segmentsMax = 8;
const pathBytesMax = 4096;

/**
 * Decodes base64 and base64url (RFC 4648), also mixed, wrapped and without padding. Text in front joins the
 * run and shifts its bits (`/files/QUtJ…`, `xQUtJ…`). So the run is tried again from each of its first
 * characters. The whole run is one value.
 */
export const base64: BlockDecoder = {
  name: 'base64',
  mayHold: (text) => (text.runKinds & (runKinds.text | runKinds.packed)) !== 0,
  *find({ bytes, runs }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    for (const { start, end, kinds: mayBe } of runs) {
      if ((mayBe & (runKinds.text | runKinds.packed)) === 0) continue;
      const some = kindsIn(bytes, start, end);
      if ((some & kinds.notHex) === 0 || (some & kinds.notWord) === 0) continue;
      const isLong = end - start > shortLength;
      const mayBeText = (mayBe & runKinds.text) !== 0;
      const isEncoded = (from: number, min: number): boolean =>
        (mayBeText && holdsTextIn(bytes, { start: from, end }, min, budget)) ||
        isCompressedStart(bytes, { start: from, end }, code);
      if (isLong || isEncoded(start, textMin)) {
        yield { start, end, bytes: decode(bytes, { start, end }) };
        const before = beforeLastLine(bytes, { start, end });
        if (before - start >= runLengthMin)
          yield { start, end: before, bytes: decode(bytes, { start, end: before }) };
      } else if (mayInflateUnmarked(bytes, { start, end }, code))
        yield { start, end, bytes: decode(bytes, { start, end }), isGuess: true };
      const guessedMin = isLong ? guessedTextMinLong : guessedTextMin;
      for (let phase = 1; phase <= lastPhase; phase += 1) {
        const from = start + phase;
        if (isEncoded(from, guessedMin)) yield { start, end, bytes: decode(bytes, { start: from, end }) };
      }
      if ((some & kinds.slash) !== 0 && end - start <= pathBytesMax)
        yield* packedSegments(bytes, { start, end });
    }
  },
};

/** Decodes declared base64, padded anywhere; other characters are skipped, as decoders do. */
export const fromBase64 = (bytes: Buffer): Buffer => decodeBits(bytes, code, padding);

/**
 * Yields packed segments of a path. The run begins with the first segment. Only the first bytes of a segment
 * show that it is packed.
 */
function* packedSegments(bytes: Buffer, { start, end }: Span): Iterable<Block> {
  let at = nextSegment(bytes, start, end);
  for (let segment = 0; end - at >= runLengthMin && segment < segmentsMax; segment += 1) {
    const rest = { start: at, end };
    const isPacked =
      runEnd(bytes, at, isWordCharacter) < at + wordCharacters &&
      (isCompressedStart(bytes, rest, code) || mayInflateUnmarked(bytes, rest, code));
    if (isPacked) yield { start, end, bytes: decode(bytes, rest), isGuess: true };
    at = nextSegment(bytes, at, end);
  }
}

/** Returns the place behind the next slash; `end` where there is none. */
function nextSegment(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at] !== slash) at += 1;
  return Math.min(end, at + 1);
}

/**
 * Returns the end of the lines before the last one, where that line goes on behind the run. The run then ends
 * with the first word of a text, which would spoil the last bytes. Returns `start` where the last line
 * belongs to the value.
 */
function beforeLastLine(bytes: Buffer, { start, end }: Span): number {
  const isWhole = end === bytes.length || endsValue[bytes[end] as number] === 1;
  if (isWhole || end - start > linesBytesMax) return start;
  let at = end - 1;
  while (at > start && bytes[at] !== newline) at -= 1;
  return bytes[at - 1] === carriageReturn ? at - 1 : at;
}

/**
 * The number of characters of a segment in which something else than small letters must stand: twenty of
 * base64 are hardly ever only small letters.
 */
const wordCharacters = 20;
const isWordCharacter = byteSet(`${lowerCase}-_/`);

function holdsTextIn(bytes: Buffer, run: Span, min: number, budget: DecodeBudget): boolean {
  budget.work(run.end - run.start);
  return holdsText(bytes, run, code, min);
}

/**
 * Decodes by Node's decoder, which takes both alphabets, skips line ends and is 30 times as fast as a loop.
 */
function decode(bytes: Buffer, { start, end }: Span): Buffer {
  return Buffer.from(bytes.toString('latin1', start, end), 'base64');
}
