/*
 * The forms in which an upstream may send a secret back: as it is, with characters escaped for URLs, JSON or HTML (any of them, in any
 * mixture), in hex, or inside a longer text in base64, where each secret has three looks by where its first byte falls.
 */

/** A text to look for, one byte after the other. */
export interface Needle {
  readonly bytes: Buffer;
  /** Whether each byte may also be escaped. */
  readonly escapes: boolean;
  /** Bytes that may stand for a byte of the needle; else only the byte itself. */
  readonly accepts: (expected: number, found: number) => boolean;
  /** Whether a byte may stand between two of the needle without breaking it. */
  readonly skips: (found: number) => boolean;
}

/** What is shorter is too common to be looked for: a password of three letters stands in every other text. */
export const secretLengthMin = 4;
/** Of an encoded form, which a common text hits by chance more easily. */
const encodedLengthMin = 6;

const same = (expected: number, found: number): boolean => expected === found;
const sameLetter = (expected: number, found: number): boolean =>
  expected === found || (isLetter(expected) && (found | 0x20) === (expected | 0x20));
const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
/** RFC 4648, 4 and 5: the two alphabets differ in two characters. */
const sameBase64 = (expected: number, found: number): boolean =>
  expected === found || (expected === 0x2b && found === 0x2d) || (expected === 0x2f && found === 0x5f);

/** UTF-16 puts a zero beside each character. */
const skipsZeros = (found: number): boolean => found === 0;
/** Base64 is often broken into lines (RFC 2045, 6.8). */
const skipsLineBreaks = (found: number): boolean => found === 0 || found === 0x0a || found === 0x0d;
/** As in `de:ad:be:ef`. */
const skipsSeparators = (found: number): boolean =>
  found === 0 || found === 0x3a || found === 0x20 || found === 0x2d;

/** All forms of the secrets. `hasLines`: false where line breaks end a message, which then must not be waited behind. */
export function toNeedles(secrets: readonly string[], hasLines: boolean): readonly Needle[] {
  const inBase64 = hasLines ? skipsLineBreaks : skipsZeros;
  return [...new Set(secrets)].flatMap((secret) => {
    const bytes = Buffer.from(secret, 'latin1');
    if (bytes.length < secretLengthMin) return [];
    const plain = { bytes, accepts: same, skips: skipsZeros };
    const hex = { bytes: Buffer.from(bytes.toString('hex')), accepts: sameLetter, skips: skipsSeparators };
    const base64 = base64Forms(bytes).map((it) => ({ bytes: it, accepts: sameBase64, skips: inBase64 }));
    return [
      { ...plain, escapes: false },
      ...[plain, hex, ...base64]
        .filter((it) => it === plain || it.bytes.length >= encodedLengthMin)
        .map((it) => ({ ...it, escapes: true })),
    ];
  });
}

/** For each of the three places of the first byte: the characters in which no bit of a neighbour stands. */
function base64Forms(bytes: Buffer): Buffer[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + bytes.length) * 8) / 6);
    return Buffer.from(text.slice(from, to));
  });
}
