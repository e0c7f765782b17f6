import { textAt, valuesAt } from './memory';

/*
 * Whether a run of base64 may stand for text, read from each of its first four characters. Nearly all runs are names and digests, and this
 * sends them away where they stand. It counts bytes where `holdsText` of src/text/bits.ts counts characters, and tells of a byte of UTF-8
 * only by the one before it, so it says yes more often. Tables instead of questions: what comes next is as good as random.
 */

/** What is longer is decoded in any case. */
const runBytesMax: i32 = 512;
/** Characters of text in a row, from the first character on and from the others. */
const textMin: i32 = 8;
const guessedTextMin: i32 = 12;
const lastPhase: i32 = 3;
/** Of bytes that are no character of base64. */
const none: i32 = 0xff;

// Classes of bytes that are decoded.
const other: i32 = 0;
const ascii: i32 = 1;
const continuation: i32 = 2;
const lead: i32 = 3;
/** It counts for nothing, as in UTF-16. */
const zero: i32 = 4;

const classesAt: i32 = valuesAt + 256;
/** For each two classes, by the first of them, whether such bytes may follow each other in a text. */
const followsAt: i32 = classesAt + 256;
const classBits: i32 = 3;

let hasTables: bool = false;

/** Whether the run that ends there may, or is long. */
export function mayHoldText(end: i32): bool {
  if (!hasTables) writeTables();
  let start = end;
  while (end - start <= runBytesMax && valueAt(start - 1) !== none) start -= 1;
  if (end - start > runBytesMax || holdsText(start, end, textMin)) return true;
  for (let phase = 1; phase <= lastPhase; phase += 1)
    if (holdsText(start + phase, end, guessedTextMin)) return true;
  return false;
}

function valueAt(at: i32): i32 {
  return load<u8>(valuesAt + <i32>load<u8>(textAt + at));
}

/** Four characters are three bytes. What stands behind the end may count as one more. */
function holdsText(start: i32, end: i32, min: i32): bool {
  let streak: i32 = 0;
  let before: i32 = other;
  for (let at = start; at < end; at += 4) {
    const three = (valueAt(at) << 18) | (valueAt(at + 1) << 12) | (valueAt(at + 2) << 6) | valueAt(at + 3);
    const first = classOf(three >> 16);
    const second = classOf(three >> 8);
    const third = classOf(three);
    streak = (streak + 1) & follows(before, first);
    if (streak >= min) return true;
    streak = (streak + 1) & follows(first, second);
    if (streak >= min) return true;
    streak = (streak + 1) & follows(second, third);
    if (streak >= min) return true;
    before = third;
  }
  return false;
}

function classOf(byte: i32): i32 {
  return load<u8>(classesAt + (byte & 0xff));
}

/** All bits where they may, and none where they may not. */
function follows(before: i32, byte: i32): i32 {
  return load<i8>(followsAt + ((before << classBits) | byte));
}

function writeTables(): void {
  memory.fill(valuesAt, <u8>none, 256);
  for (let letter: i32 = 0; letter < 26; letter += 1) {
    store<u8>(valuesAt + 0x41 + letter, <u8>letter);
    store<u8>(valuesAt + 0x61 + letter, <u8>(26 + letter));
  }
  for (let digit: i32 = 0; digit < 10; digit += 1) store<u8>(valuesAt + 0x30 + digit, <u8>(52 + digit));
  store<u8>(valuesAt + 0x2b, 62);
  store<u8>(valuesAt + 0x2d, 62);
  store<u8>(valuesAt + 0x2f, 63);
  store<u8>(valuesAt + 0x5f, 63);
  for (let byte: i32 = 0; byte < 256; byte += 1) store<u8>(classesAt + byte, <u8>classFor(byte));
  for (let before: i32 = 0; before < 1 << classBits; before += 1)
    for (let byte: i32 = 0; byte < 1 << classBits; byte += 1)
      store<i8>(followsAt + ((before << classBits) | byte), mayFollow(before, byte) ? -1 : 0);
  hasTables = true;
}

function classFor(byte: i32): i32 {
  if (byte >= 0x80) return byte < 0xc0 ? continuation : byte >= 0xc2 && byte <= 0xf4 ? lead : other;
  if (byte === 0) return zero;
  const isText = byte >= 0x20 && byte !== 0x7f;
  return isText || byte === 0x09 || byte === 0x0a || byte === 0x0d ? ascii : other;
}

/** A character may begin a text, and only a byte of one that is not over goes on in the middle of it. */
function mayFollow(before: i32, byte: i32): bool {
  if (byte === continuation) return before === lead || before === continuation || before === zero;
  return byte !== other;
}
