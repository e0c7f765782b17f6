import { bitCode, holdsText } from './bits.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import { byteSet, digits, lowerCase, upperCase } from './bytes.ts';
import { beginsCompressed } from './compression.ts';
import { runLengthMin } from './runs.ts';

const letters = upperCase + lowerCase + digits;
const code = bitCode(6, `${letters}+/`, `${letters}-_`);
const isDelimiter = byteSet('/-_');

/** So much text in a row is no accident: 1 in 300 short identifiers decodes to it, and they cost little. */
const textMin = 8;
/** The same where the start is a guess. */
const guessedTextMin = 12;
/** How far into a run another start is looked for, and how much of it must then show text. */
const prefixMax = 64;
const sampleLength = 512;

/**
 * base64 and base64url (RFC 4648), also mixed, wrapped and without padding. A path or a name in front joins the run and shifts
 * its bits (`/files/QUtJ…`), so the run is tried again behind each of its first delimiters. The whole run is one value.
 */
export const base64: BlockDecoder = {
  name: 'base64',
  needsRuns: true,
  *find({ bytes, runs }: EncodedText): Iterable<Block> {
    for (const { start, end } of runs) {
      const run = bytes.subarray(start, end);
      if (run.length > sampleLength || isEncoded(run, textMin)) yield { start, end, bytes: decode(run) };
      const laterMax = Math.min(prefixMax, run.length - runLengthMin);
      // Every fourth character begins the same bytes, so one start of each phase is enough.
      let phases = 1;
      for (let at = 1; at <= laterMax; at += 1) {
        const phase = 1 << (at % 4);
        if (isDelimiter[run[at - 1] ?? 0] === 0 || (phases & phase) !== 0) continue;
        phases |= phase;
        if (isEncoded(run.subarray(at, at + sampleLength), guessedTextMin)) {
          yield { start, end, bytes: decode(run.subarray(at)) };
        }
      }
    }
  },
};

function isEncoded(run: Buffer, min: number): boolean {
  return holdsText(run, code, min) || beginsCompressed(run, code);
}

/** Node's own decoder takes both alphabets, skips line ends and is 30 times faster than a loop. */
function decode(run: Buffer): Buffer {
  return Buffer.from(run.toString('latin1'), 'base64');
}
