import { byteLengthOf, codeOf, readCharacter } from './escapes.ts';

/*
 * The forms in which an upstream may send a secret back. In each form any of the characters may be escaped,
 * in any mixture. The forms differ in which characters mean the same, so each is looked for in its own view
 * of the answer.
 */

/** Meaning of a character that does not count. */
export const dropped = -1;

/** A way to read an answer, and the texts to look for in it. */
export interface ScrubView {
  /** Meaning of each character: itself, another one that it stands for, or `dropped`. */
  readonly meanings: Int16Array;
  /** Texts to look for, written in the meanings of their characters. */
  readonly needles: readonly Buffer[];
  /** Bytes within which a character of a needle is looked for, on average. */
  readonly bytesPerCharacterMax: number;
}

/**
 * Characters of the shortest secret that is searched for. Shorter ones are too common: three letters stand in
 * every other text.
 */
const secretLengthMin = 4;
/** Characters of the shortest encoded form. A common text contains one by chance more easily. */
const encodedLengthMin = 6;

/**
 * Characters that do not count in a text. UTF-16 puts a zero beside each character; a backslash is about the
 * character behind it.
 */
const textBreaks: ReadonlySet<number> = new Set([0, 0x5c]);
/**
 * Returns the meaning of a character of plain text. `+` is a space in forms
 * (application/x-www-form-urlencoded).
 */
const foldText = (code: number): number => (textBreaks.has(code) ? dropped : code === 0x2b ? 0x20 : code);

/** Characters that separate hex, as in `de:ad:be:ef` and `DE AD`, and the zero of UTF-16. */
const hexSeparators: ReadonlySet<number> = new Set([0, 0x20, 0x2d, 0x3a]);
const foldHex = (code: number): number =>
  hexSeparators.has(code) ? dropped : code >= 0x41 && code <= 0x46 ? code | 0x20 : code;

/**
 * Characters that do not count in base64. It is often broken into lines (RFC 2045, 6.8), and these are
 * indented.
 */
const base64Breaks: ReadonlySet<number> = new Set([0, 0x09, 0x0a, 0x0d, 0x20]);
/**
 * Returns the meaning of a character of base64. The two alphabets differ in two characters (RFC 4648, 4 and
 * 5).
 */
const foldBase64 = (code: number): number =>
  base64Breaks.has(code) ? dropped : code === 0x2d ? 0x2b : code === 0x5f ? 0x2f : code;

/** Returns the views of plain text, of hex and of base64, in this order. */
export function toViews(secrets: readonly string[]): readonly ScrubView[] {
  const encodings = secrets.flatMap((secret) => [Buffer.from(secret, 'latin1'), Buffer.from(secret)]);
  // The cursor of a page, for example, is the base64 of a URL.
  const inBase64 = [...encodings, ...secrets.map((it) => Buffer.from(encodeURIComponent(it.toWellFormed())))];
  return [
    // A character may be escaped twice over: `\\u0041`.
    toView(foldText, [...encodings, ...encodings.map(unescaped)], secretLengthMin, 8),
    toView(
      foldHex,
      encodings.map((it) => Buffer.from(it.toString('hex'))),
      encodedLengthMin,
      3,
    ),
    toView(foldBase64, inBase64.flatMap(base64Forms), encodedLengthMin, 3),
  ];
}

function toView(
  fold: (code: number) => number,
  texts: readonly Buffer[],
  lengthMin: number,
  bytesPerCharacterMax: number,
): ScrubView {
  const meanings = Int16Array.from({ length: 256 }, (_, code) => fold(code));
  const folded = texts.map((text) => foldedBy(meanings, text));
  const needles = new Map(folded.map((it) => [it.toString('latin1'), it]));
  return {
    meanings,
    needles: [...needles.values()].filter((it) => it.length >= lengthMin),
    bytesPerCharacterMax,
  };
}

/** Returns the meanings of a text's characters. It makes no list of them: a token may have thousands. */
function foldedBy(meanings: Int16Array, text: Buffer): Buffer {
  const folded = Buffer.alloc(text.length);
  let length = 0;
  for (const code of text) {
    const meaning = meanings[code] as number;
    if (meaning !== dropped) folded[length++] = meaning;
  }
  return folded.subarray(0, length);
}

/** Returns the secret with its own escapes undone: `%41` in it may be read as `A`. */
function unescaped(text: Buffer): Buffer {
  const codes: number[] = [];
  for (let at = 0; at < text.length; ) {
    const read = readCharacter(text, at);
    codes.push(codeOf(read));
    at += byteLengthOf(read);
  }
  return Buffer.from(codes);
}

/**
 * Returns the base64 of the bytes for each place that the first byte may have in a group. Characters with
 * bits of a neighbour are left out.
 */
function base64Forms(bytes: Buffer): Buffer[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + bytes.length) * 8) / 6);
    return Buffer.from(text.slice(from, to));
  });
}
