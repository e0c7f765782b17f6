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

/** Makes the views of plain text, of hex and of base64, in this order. It yields behind each needle. */
export function* makeViews(secrets: readonly string[]): Generator<undefined, readonly ScrubView[]> {
  return [
    yield* makeView(foldText, textForms(secrets), secretLengthMin, 8),
    yield* makeView(foldHex, hexForms(secrets), encodedLengthMin, 3),
    yield* makeView(foldBase64, base64Forms(secrets), encodedLengthMin, 3),
  ];
}

function* makeView(
  fold: (code: number) => number,
  texts: Iterable<Buffer>,
  lengthMin: number,
  bytesPerCharacterMax: number,
): Generator<undefined, ScrubView> {
  const meanings = Int16Array.from({ length: 256 }, (_, code) => fold(code));
  const needles = new Map<string, Buffer>();
  for (const text of texts) {
    const folded = foldedBy(meanings, text);
    if (folded.length >= lengthMin) needles.set(folded.toString('latin1'), folded);
    yield;
  }
  return { meanings, needles: [...needles.values()], bytesPerCharacterMax };
}

/** Returns the bytes of a secret in both encodings of text. */
const encodingsOf = (secret: string): Buffer[] => [Buffer.from(secret, 'latin1'), Buffer.from(secret)];

function* textForms(secrets: readonly string[]): Generator<Buffer> {
  for (const secret of secrets) {
    for (const bytes of encodingsOf(secret)) {
      yield bytes;
      // A character may be escaped twice over: `\\u0041`.
      yield unescaped(bytes);
    }
  }
}

function* hexForms(secrets: readonly string[]): Generator<Buffer> {
  for (const secret of secrets)
    for (const bytes of encodingsOf(secret)) yield Buffer.from(bytes.toString('hex'));
}

function* base64Forms(secrets: readonly string[]): Generator<Buffer> {
  for (const secret of secrets) {
    // The cursor of a page, for example, is the base64 of a URL.
    const encoded = Buffer.from(encodeURIComponent(secret.toWellFormed()));
    for (const bytes of [...encodingsOf(secret), encoded]) yield* base64Of(bytes);
  }
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
 * Yields the base64 of the bytes for each place that the first byte may have in a group. Characters with bits
 * of a neighbour are left out.
 */
function* base64Of(bytes: Buffer): Generator<Buffer> {
  for (const before of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + bytes.length) * 8) / 6);
    yield Buffer.from(text.slice(from, to));
  }
}
