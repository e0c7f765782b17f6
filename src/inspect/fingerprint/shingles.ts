import assert from 'node:assert/strict';
import { isAscii } from 'node:buffer';
import { type Cipheriv, createCipheriv, hkdfSync } from 'node:crypto';
import type { Shingles } from '../../core/history.ts';
import { byteSet } from '../kernel/bytes.ts';

/*
 * Makes keyed shingles, by which text that was read a moment ago is recognised in what is written.
 *
 * A text is reduced to its letters: ASCII letters in lower case, digits, and the bytes of letters of other
 * alphabets. White space, punctuation, signs of all scripts and the keys of JSON are left out. So the values
 * of a response are one run of letters, the same in JSON, CSV, a table and a sentence.
 *
 * Every 32 letters in a row (a gram) have a rolling hash. Of every window the gram with the least hash is
 * chosen, the last of equals (winnowing: Schleimer, Wilkerson, Aiken, SIGMOD 2003). The choice depends on the
 * letters of the window alone, and a larger window chooses a part of what a smaller one chooses. So two texts
 * that share a run of letters share choices, whatever stands around it, even where one is sampled more
 * thinly.
 *
 * The order of the hashes is keyed: nobody can make a text of which nothing is chosen, or one that takes
 * long.
 */

export interface ShingleBounds {
  /** Bound on the shingles of a read; at most 32,768. */
  readonly readMax: number;
  /** Bound on the shingles of a megabyte of a write; at most 32,768. */
  readonly writeMax: number;
  /** Bound on the bytes of all texts that were read together, at most 1 MB; further bytes are ignored. */
  readonly bytesMax: number;
}

export interface Shingler {
  /**
   * Makes shingles of what was read: a body and all that was decoded from it. The window is 32 grams, and
   * larger where that makes more than `readMax` shingles. With a `readMax` of 4096 it grows to a 1900th of
   * the letters of a text of more than 64,000. Letters that stood before, as those of a decoded form may, do
   * not count.
   *
   * A write that quotes a run of q letters has at least (q - 31) / window of the shingles, rounded down. On
   * average it has twice as many. Prose has four letters in five characters. The number then depends on the
   * size of the body.
   *
   *     A quote of 200 characters has 3 of up to  95 KB and 1 of up to 300 KB.
   *     A quote of 400 characters has 3 of up to 225 KB and 1 of up to 680 KB.
   *     A quote of 600 characters has 3 of up to 350 KB and 1 of 1 MB.
   *
   * Grams of fewer than 8 distinct letters are never chosen.
   */
  ofRead(texts: readonly Buffer[]): Shingles;
  /**
   * Makes shingles of all that is sent, with a window of 16 grams. A piece with more than `writeMax` has a
   * larger window, and then the larger window of both sides counts. Text with keys is taken with and without
   * them, because what was read may stand in a key. Text with labels (`Name: Ann`) is also taken without
   * them.
   */
  ofWrite(texts: readonly Buffer[]): Shingles;
}

const shinglesMax = 32_768;
const textBytesMax = 1 << 20;
const defaultBounds: ShingleBounds = { readMax: 4096, writeMax: shinglesMax, bytesMax: textBytesMax };
const readWindow = 32;
const writeWindow = 16;

/** The number of letters of a gram: two blocks of AES, or some six words. */
const gramLetters = 32;
const blockBytes = 16;
const blockInts = blockBytes / 4;
/**
 * The least number of distinct letters in a gram. With fewer it is a rule, padding or zeros, which any two
 * texts may share.
 */
const distinctMin = 8;
/** Bound on the letters of a key: longer text between quotes is content. */
const keyLettersMax = 64;
/** The hash of a gram that is never chosen, since it comes last in the order. */
const never = 0x7fffffff;

/*
 * Memory for one content at a time, since everything here is synchronous. The arrays are constants, because
 * V8 then knows where they are: the loops take a third of the time.
 */
/** A text and a zero behind it. */
const input = new Uint8Array(textBytesMax + 1);
/** Up to three readings of each text: without keys, with keys, without labels. */
const letters = new Uint8Array(3 * textBytesMax);
const hashes = new Int32Array(letters.length);
/** The places where the chosen grams begin. It has room for the longest text with the first window. */
const chosen = new Int32Array(16 * shinglesMax);
const slots = new Int32Array(2 * chosen.length);
const blocks = new Int32Array(shinglesMax * blockInts);
const blockBuffer = Buffer.from(blocks.buffer);
const blockView = new DataView(blocks.buffer);
const letterView = new DataView(letters.buffer);
const seen = new Uint8Array(256);
/** What each letter adds to a hash, and what that has become when the letter leaves. */
const entering = new Int32Array(256);
const leaving = new Int32Array(256);

/**
 * Makes shingles under a key of 32 bytes; equal keys make equal shingles. Throws where the key or a bound is
 * invalid.
 */
export function createShingler(key: Buffer, bounds: ShingleBounds = defaultBounds): Shingler {
  const { readMax, writeMax, bytesMax } = bounds;
  assert(key.length === 32, 'the key of a shingler has 32 bytes');
  assert(
    Math.max(readMax, writeMax) <= shinglesMax && bytesMax <= textBytesMax,
    'a shingler has this much room',
  );
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'shingles', 32 + 4 * 256));
  const cipher = createCipheriv('aes-256-ecb', derived.subarray(0, 32), null).setAutoPadding(false);
  const order = Int32Array.from({ length: 256 }, (_, letter) => derived.readInt32LE(32 + 4 * letter));
  return {
    ofRead(texts) {
      const grams = hashGrams(reduceAll(texts, bytesMax, false), order);
      return sealed(cipher, choose(grams, readWindow, readMax));
    },
    ofWrite(texts) {
      const [first, ...others] = piecesOf(texts).map((piece) => {
        const grams = hashGrams(reduceAll(piece, textBytesMax, true), order);
        return sealed(cipher, choose(grams, writeWindow, writeMax));
      });
      if (first === undefined || others.length === 0) return first ?? new Float64Array();
      return Float64Array.from(new Set([first, ...others].flatMap((it) => [...it])));
    },
  };
}

/**
 * The number of bytes that two pieces of a text share, so that one of them has a quote of 400 letters in any
 * script.
 */
const commonBytes = 4096;

/** Cuts all texts into pieces of a megabyte, so that nothing hides behind padding. */
function piecesOf(texts: readonly Buffer[]): readonly (readonly Buffer[])[] {
  let bytes = 0;
  for (const { length } of texts) bytes += length;
  if (bytes <= textBytesMax) return [texts];
  const step = textBytesMax - commonBytes;
  return texts.flatMap((text) =>
    Array.from({ length: Math.ceil(text.length / step) }, (_, at) => [
      text.subarray(at * step, at * step + textBytesMax),
    ]),
  );
}

/** Fills `letters` with the readings of all texts; returns how many letters there are. */
function reduceAll(texts: readonly Buffer[], bytesMax: number, isSent: boolean): number {
  let room = bytesMax;
  let end = 0;
  for (const text of texts) {
    const part = text.subarray(0, room);
    room -= part.length;
    end = reduce(part, end, keyLettersBefore);
    if (!isSent || colons === 0) continue;
    if (leftOut > 0) end = reduce(part, end, noLetters);
    if (labels < labelsMin) continue;
    end = reduce(part, end, labelLettersBefore);
  }
  return end;
}

/** The letter of each byte; 0 for a byte that is none. */
const letterOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte).toLowerCase();
  return byte >= 0x80 ? byte : /[a-z0-9]/.test(character) ? character.charCodeAt(0) : 0;
});
/**
 * Counts of the text that was reduced last: its colons, the colons that end a label, and the keys left out.
 */
let colons = 0;
let labels = 0;
let leftOut = 0;
/**
 * The least number of labels of a text that is also taken without them. With fewer it has nearly the same
 * shingles.
 */
const labelsMin = 4;
const colon = 0x3a;
const asterisk = 0x2a;
const isQuote = (byte: number): boolean => byte === 0x22 || byte === 0x27;
/** Returns 1 for a letter, 0 for none. */
const countOf = (letter: number): number => (letter + 0xff) >>> 8;

/**
 * Writes the letters of a text from `start` on, without those that `keyBefore` counts before a colon. Returns
 * their end.
 */
function reduce(text: Buffer, start: number, keyBefore: (colonAt: number) => number): number {
  const { length } = text;
  input.set(text);
  input[length] = 0;
  if (!isAscii(text)) blankSigns(length);
  [colons, labels, leftOut] = [0, 0, 0];
  let end = start;
  for (let i = 0; i < length; ) {
    // The loop between colons has no branch, because the processor cannot predict where words end.
    for (let byte = 0; i < length && byte !== colon; i += 1) {
      byte = input[i] as number;
      const letter = letterOf[byte] as number;
      letters[end] = letter;
      end += countOf(letter);
    }
    if (input[i - 1] !== colon) continue;
    colons += 1;
    if (labels < labelsMin && labelLettersBefore(i - 1) > 0) labels += 1;
    const ofKey = keyBefore(i - 1);
    end -= ofKey;
    leftOut += ofKey > 0 ? 1 : 0;
  }
  return end;
}

const space = 0x20;

/** Replaces characters of other scripts that are neither letters nor digits with spaces. */
function blankSigns(length: number): void {
  for (let i = 0; i < length; ) {
    const lead = input[i] as number;
    const size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const end = Math.min(length, i + size);
    // A lone byte of this kind is a sign of Latin-1 or Windows, such as a no-break space or a dash.
    if (lead >= 0x80 && (lead < 0xc0 || isSign(lead, input[i + 1] ?? 0, input[i + 2] ?? 0)))
      input.fill(space, i, end);
    i = end;
  }
}

/**
 * Tells whether a character is a sign, by its first three bytes. Signs are U+0080 to 00BF, combining marks,
 * ogham space, and U+2000 to 2BFF (punctuation, arrows, mathematics, boxes, dingbats). Further ranges are
 * U+2E00 to 2E7F, U+3000 to 303F, U+FE00 to FE6F, U+FEFF, full-width punctuation, pictures from U+1F000 on,
 * and tags.
 */
function isSign(first: number, second: number, third: number): boolean {
  switch (first) {
    case 0xc2:
    case 0xcc:
      return true;
    case 0xcd:
      return second <= 0xaf;
    case 0xe1:
      return second === 0x9a && third === 0x80;
    case 0xe2:
      return second <= 0xaf || second === 0xb8 || second === 0xb9;
    case 0xe3:
      return second === 0x80;
    case 0xef:
      if (second === 0xbc) return third <= 0x8f || (third >= 0x9a && third <= 0xa0) || third >= 0xbb;
      if (second === 0xbd) return third === 0x80 || (third >= 0x9b && third <= 0xa5);
      return second === 0xb8 || second === 0xb9 || (second === 0xbb && third === 0xbf);
    case 0xf0:
      return second === 0x9f;
    case 0xf3:
      return second === 0xa0;
    default:
      return false;
  }
}

/**
 * Returns the number of letters of a key, which stands between quotes before a colon; 0 where there is none.
 * The rest of the grammar of JSON does not matter. So keys are also found inside a string (`\"name\":`), in
 * lines of JSON, in JSON cut off at both ends, and in Python. Every place between two quotes is looked at
 * once.
 */
function keyLettersBefore(at: number): number {
  let i = at - 1;
  while (i >= 0 && (input[i] as number) <= 0x20) i -= 1;
  if (i < 0 || !isQuote(input[i] as number)) return 0;
  let count = 0;
  for (i -= 1; i >= 0 && count <= keyLettersMax; i -= 1) {
    const byte = input[i] as number;
    if (isQuote(byte)) return count;
    count += countOf(letterOf[byte] as number);
  }
  return 0;
}

const noLetters = (): number => 0;
const labelBorder = byteSet('\n\r\t,;:|([{<>"\\');

/**
 * Returns the number of letters of a label; 0 where there is none. It stands after a line break, a comma or
 * another border, and before a colon and a space. YAML, lists and mails have labels.
 */
function labelLettersBefore(at: number): number {
  const next = input[at + 1] as number;
  if (next > 0x20 && next !== asterisk) return 0;
  let count = 0;
  for (let i = at - 1; i >= 0 && labelBorder[input[i] as number] === 0; i -= 1)
    count += countOf(letterOf[input[i] as number] as number);
  return count <= keyLettersMax ? count : 0;
}

/** Fills `hashes` with each gram's cyclic polynomial of 32 rotations; returns the number of grams. */
function hashGrams(length: number, order: Int32Array): number {
  entering.set(order);
  for (let i = 0; i < order.length; i += 1) leaving[i] = rotateLeft(order[i] as number, gramLetters - 1);
  seen.fill(0);
  let hash = 0;
  let distinct = 0;
  for (let i = 0; i < length; i += 1) {
    const letter = letters[i] as number;
    const count = seen[letter] as number;
    seen[letter] = count + 1;
    distinct += isZero(count);
    hash = rotateLeft(hash, 1) ^ (entering[letter] as number);
    const gram = i - gramLetters + 1;
    if (gram < 0) continue;
    hashes[gram] = distinct < distinctMin ? never : hash;
    const first = letters[gram] as number;
    const left = (seen[first] as number) - 1;
    seen[first] = left;
    distinct -= isZero(left);
    hash ^= leaving[first] as number;
  }
  return Math.max(0, length - gramLetters + 1);
}

const rotateLeft = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));
/** Returns 1 for zero and 0 for any other count, without a branch. */
const isZero = (count: number): number => (count - 1) >>> 31;

/**
 * Fills `chosen` with up to `max` distinct grams, by the smallest window that gives no more; returns how
 * many.
 */
function choose(grams: number, firstWindow: number, max: number): number {
  let window = firstWindow;
  // The loop ends, since a window of all grams chooses one.
  while (max > 0) {
    const all = winnow(grams, window);
    const count = all < chosen.length ? withoutRepeats(all) : all;
    if (count <= max) return count;
    // The count falls as the window grows. A twentieth is added, because it does so only on average.
    window = Math.ceil((window * count * 1.05) / max);
  }
  return 0;
}

/** Fills `chosen` with the least gram of each window, up to its length; returns how many there are. */
function winnow(grams: number, window: number): number {
  if (grams === 0) return 0;
  let end = Math.min(window, grams);
  let best = lastOfLeast(0, end);
  let count = 0;
  while (count < chosen.length) {
    const least = hashes[best] as number;
    if (least !== never) {
      chosen[count] = best;
      count += 1;
    }
    const leaves = Math.min(best + window, grams);
    while (end < leaves && (hashes[end] as number) > least) end += 1;
    if (end >= grams) break;
    end += 1;
    best = end > leaves ? lastOfLeast(best + 1, end) : end - 1;
  }
  return count;
}

function lastOfLeast(start: number, end: number): number {
  let least = never;
  for (let i = start; i < end; i += 1) least = Math.min(least, hashes[i] as number);
  let best = end - 1;
  while (hashes[best] !== least) best -= 1;
  return best;
}

/** Removes from `chosen` grams with the letters of an earlier one; returns how many are left. */
function withoutRepeats(count: number): number {
  // Half of the slots stay empty, so that probing is short.
  const slotMask = 2 ** Math.ceil(Math.log2(2 * count)) - 1;
  slots.fill(0, 0, slotMask + 1);
  let kept = 0;
  for (let i = 0; i < count; i += 1) {
    const gram = chosen[i] as number;
    const hash = hashes[gram] as number;
    let slot = hash & slotMask;
    let known = slots[slot] as number;
    while (known !== 0 && !isSameGram(known - 1, gram)) {
      slot = (slot + 1) & slotMask;
      known = slots[slot] as number;
    }
    if (known !== 0) continue;
    slots[slot] = gram + 1;
    chosen[kept] = gram;
    kept += 1;
  }
  return kept;
}

function isSameGram(a: number, b: number): boolean {
  let at = hashes[a] === hashes[b] ? 0 : gramLetters + 1;
  while (at < gramLetters && letterView.getInt32(a + at, true) === letterView.getInt32(b + at, true)) at += 4;
  return at === gramLetters;
}

/**
 * Makes the shingles of the chosen grams. A gram is two blocks; its shingle is the first bytes of their
 * CBC-MAC under AES-256, a pseudo-random function of messages of one length. Without the key nobody can test
 * a guess or find two grams with one shingle. All grams take each of the two steps together, as one message
 * in ECB mode.
 */
function sealed(cipher: Cipheriv, count: number): Shingles {
  const used = blockBuffer.subarray(0, count * blockBytes);
  blocks.fill(0, 0, count * blockInts);
  for (let block = 0; block < gramLetters; block += blockBytes) {
    for (let i = 0; i < count; i += 1) {
      const from = (chosen[i] as number) + block;
      const to = blockInts * i;
      for (let at = 0; at < blockInts; at += 1)
        blocks[to + at] = (blocks[to + at] as number) ^ letterView.getInt32(from + 4 * at, true);
    }
    used.set(cipher.update(used));
  }
  const shingles = new Float64Array(count);
  for (let i = 0; i < count; i += 1)
    shingles[i] = blockView.getUint32(blockBytes * i) * 0x10000 + blockView.getUint16(blockBytes * i + 4);
  return shingles;
}
