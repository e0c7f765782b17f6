import { byteSet, digits, lowerCase, upperCase } from '../scan/bytes.ts';
import { blockFlags } from '../scan/outline.ts';
import { bitCode, holdsText } from './bits.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';
import { beginsCompressed, mayBePacked } from './compression.ts';
import { hasRuns, runEnd, runLengthMin } from './runs.ts';
import type { Span } from './span-map.ts';

const letters = upperCase + lowerCase + digits;
const code = bitCode(6, `${letters}+/`, `${letters}-_`);

/** So much text in a row is no accident: 1 in 300 short identifiers decodes to it, and they cost little. */
const textMin = 8;
/** The same where the start is a guess, in a short run and in a long one, of which there is more to be read by accident. */
const guessedTextMin = 12;
const guessedTextMinLong = 20;
const shortLength = 512;
/** Digests and UUIDs: of 64 characters a text in base64 does not use these 23 alone. */
const hexAlphabet = byteSet('0123456789abcdefABCDEF-\r\n');
/** Four characters are three bytes, so text behind any prefix begins in one of these. */
const phases = [1, 2, 3];
const slash = 0x2f;
/** In a path; what is packed stands in one of the first. */
const segmentsMax = 8;
const pathBytesMax = 4096;

/**
 * base64 and base64url (RFC 4648), also mixed, wrapped and without padding. What stands in front joins the run and shifts its bits
 * (`/files/QUtJ…`, `xQUtJ…`), so the run is tried again from each of its first characters. The whole run is one value.
 */
export const base64: BlockDecoder = {
  name: 'base64',
  needs: blockFlags.encoded,
  mayHold: hasRuns,
  *find({ bytes, runs }: EncodedText, budget: Budget): Iterable<Block> {
    for (const { start, end } of runs) {
      if (runEnd(bytes, start, hexAlphabet) >= end) continue;
      const run = bytes.subarray(start, end);
      const isLong = run.length > shortLength;
      if (isLong || isEncoded(run, textMin, budget)) yield { start, end, bytes: decode(run) };
      else if (mayBePacked(run, code)) yield { start, end, bytes: decode(run), isGuess: true };
      for (const phase of phases) {
        const rest = run.subarray(phase);
        if (isEncoded(rest, isLong ? guessedTextMinLong : guessedTextMin, budget))
          yield { start, end, bytes: decode(rest) };
      }
      if (run.length <= pathBytesMax) yield* packedSegments({ start, end }, run);
    }
  },
};

/** In a path the run begins with the first segment, and what is packed is told by its first bytes alone. */
function* packedSegments({ start, end }: Span, run: Buffer): Iterable<Block> {
  let at = run.indexOf(slash) + 1;
  for (let segment = 0; at > 0 && run.length - at >= runLengthMin && segment < segmentsMax; segment += 1) {
    const rest = run.subarray(at);
    const isPacked = !isOfWords(rest) && (beginsCompressed(rest, code) || mayBePacked(rest, code));
    if (isPacked) yield { start, end, bytes: decode(rest), isGuess: true };
    at = run.indexOf(slash, at) + 1;
  }
}

/** So many characters of base64 are hardly ever small letters alone. */
const wordCharacters = 20;
const isWordCharacter = byteSet(`${lowerCase}-_/`);

const isOfWords = (rest: Buffer): boolean => runEnd(rest, 0, isWordCharacter) >= wordCharacters;

function isEncoded(run: Buffer, min: number, budget: Budget): boolean {
  budget.work(run.length);
  return holdsText(run, code, min) || beginsCompressed(run, code);
}

/** Node's own decoder takes both alphabets, skips line ends and is 30 times faster than a loop. */
function decode(run: Buffer): Buffer {
  return Buffer.from(run.toString('latin1'), 'base64');
}
