import { addressAt, addressEnd, isSetuidMode } from './addresses';
import { textAt } from './memory';
import {
  byteIn,
  isTextDigit,
  kindAccent,
  kindAccented,
  kindApostrophe,
  kindAt,
  kindBackslash,
  kindBacktick,
  kindDigit,
  kindEnd,
  kindHash,
  kindLine,
  kindLongMark,
  kindLower,
  kindMark,
  kindOf,
  kindOpening,
  kindParenthesis,
  kindSlash,
  kindStar,
  kindUpper,
  length,
  setLength,
  setTables,
  tables,
  textByteAt,
} from './word-bytes';

/*
 * Turns the words of a text into numbers, sentence by sentence. src/inspect/intent/sentences.ts defines them
 * and makes the tables.
 */

// These are offsets of the tables, as in sentences.ts.
const firstsAt: i32 = 256;
const furthersAt: i32 = 512;
const signsAt: i32 = 768;
const accentsAt: i32 = 1024;
const marksAt: i32 = 1056;
const wordsAt: i32 = 1104;
const opensAt: i32 = 1360;
const filterAt: i32 = 1424;
const beginningBitsAt: i32 = 9616;
const beginningsAt: i32 = 17808;

// These are further traits of a byte, as in sentences.ts.
const isBlank: i32 = 1;
const isBehindEnd: i32 = 2;
const isBehindRoot: i32 = 4;
const isBeforeAnything: i32 = 8;
const isBehindAnything: i32 = 16;

// These are numbers of marks, in the order of word-numbers.ts.
const anything: i32 = 0;
const fileAt: i32 = 1;
const rootPath: i32 = 2;
const setuidMode: i32 = 3;
const call: i32 = 4;
const code: i32 = 5;

const space: i32 = 0x20;
const dot: i32 = 0x2e;
const slash: i32 = 0x2f;

const gap: i32 = 0;
const noLetter: i32 = 1;
const countMax: i32 = 64;
const shared: i32 = 16;
/** Bound on the bytes of one call, since the caller may want to stop. */
const bytesPerCall: i32 = 4096;
const emptyHash: i32 = 0x811c9dc5;
const emptyWord: u64 = (0x2325 << 32) | 0x84222325;
const goldenRatio: u64 = (0x9e3779b9 << 32) | 0x7f4a7c15;

/** The number of slots of the table of beginnings, less one; 0 where every sentence passes. */
let slotMask: i32 = 0;
let position: i32 = 0;
let count: i32 = 0;
/** The number of words of this sentence that the piece before had too. */
let sharedCount: i32 = 0;
/** A bit for each word with which a phrase may begin. */
let beginningWords: u64 = 0;
/** The end of the phrases that were found, and of the words that were looked at. */
let passedTo: i32 = 0;
let filteredTo: i32 = 0;
/** Tells whether the next word opens a sentence or a quotation. */
let isOpening: bool = true;
/** Tells whether the words were handed on and the sentence goes on behind them. */
let isHanded: bool = false;

/** Sets the tables, and the number of slots of the filter; 0 means no filter. */
export function useWordTables(at: i32, slots: i32): void {
  setTables(at);
  slotMask = slots === 0 ? 0 : slots - 1;
}

/** Begins to read the text in the memory. */
export function beginWords(lengthOfText: i32): void {
  setLength(lengthOfText);
  position = 0;
  isHanded = false;
  forget();
}

/**
 * Reads to the end of the next sentence, or piece of one, that passes the filter. Returns the number of its
 * words, which stay in the tables until the next call. Returns 0 after many bytes without such a sentence,
 * and -1 at the end of the text.
 */
export function nextSentence(): i32 {
  if (isHanded) keepShared();
  const pause = min(length, position + bytesPerCall);
  while (position < pause) {
    if (count === countMax) {
      if (passes()) {
        isHanded = true;
        return count;
      }
      keepShared();
    }
    const first = byteIn(firstsAt, load<u8>(textAt + position));
    if (first === gap) {
      position += 1;
    } else if (first === noLetter) {
      const complete = readOther(byteIn(0, load<u8>(textAt + position)));
      if (complete > 0) return complete;
    } else if (load<u8>(textAt + position - 1) === space) {
      readPlainWords();
    } else {
      readWord(first);
    }
  }
  if (position < length) return 0;
  const complete = end();
  return complete > 0 ? complete : -1;
}

/**
 * Reads a word. Nearly all words have only small letters behind the first one, so sixteen are looked at and
 * eight hashed at once. Nobody can predict the length of a word, so there is no loop over its letters.
 */
function readWord(first: i32): void {
  const start = position;
  let at = start;
  let hash = emptyWord;
  let low = (load<u64>(textAt + at) & ~0xff) | <u64>first;
  let run = plainRun(at, 1);
  while (run === 16) {
    hash = mixEight(mixEight(hash, low), load<u64>(textAt + at + 8));
    at += 16;
    low = load<u64>(textAt + at);
    run = plainRun(at, 0);
  }
  // There is no branch for eight letters or more either; masked letters do not count.
  const isLong = run >= 8;
  const whole = mixEight(hash, low);
  hash = isLong ? whole : hash;
  low = isLong ? load<u64>(textAt + at + 8) : low;
  const rest = run & 7;
  const mixed = mixEight(hash, low & ((1 << (8 * <u64>rest)) - 1));
  hash = rest > 0 ? mixed : hash;
  at += run;
  // A byte behind the text ends a word.
  if (byteIn(furthersAt, load<u8>(textAt + at)) === noLetter) readRest(start);
  else endWord(start, at, hash);
}

/**
 * Reads words of small letters with a space behind each, as in prose. Their ends are found for 64 bytes at
 * once, so that no word waits for the one before. The first word of another form is read by itself.
 */
function readPlainWords(): void {
  const start = textAt + position;
  const letters =
    lettersAt(start) |
    (lettersAt(start + 16) << 16) |
    (lettersAt(start + 32) << 32) |
    (lettersAt(start + 48) << 48);
  const spaces =
    spacesAt(start) |
    (spacesAt(start + 16) << 16) |
    (spacesAt(start + 32) << 32) |
    (spacesAt(start + 48) << 48);
  let offset: u64 = 0;
  while (count < countMax) {
    const run = ctz(~(letters >> offset));
    const behind = offset + run;
    if (run === 0 || run >= 16 || behind >= 64 || ((spaces >> behind) & 1) === 0) break;
    const at = start + <i32>offset;
    const low = load<u64>(at);
    const high = load<u64>(at + 8);
    const whole = mixEight(emptyWord, low);
    const isLong = run >= 8;
    const hash = isLong ? whole : emptyWord;
    const last = isLong ? high : low;
    const rest = run & 7;
    const mixed = mixEight(hash, last & ((1 << (8 * rest)) - 1));
    add(toNumber(<i32>((rest > 0 ? mixed : hash) >> 32)));
    offset = behind + 1;
  }
  if (offset === 0) readWord(byteIn(firstsAt, load<u8>(start)));
  else position += <i32>offset;
}

function lettersAt(at: i32): u64 {
  const isLetterByte = i8x16.lt_u(i8x16.sub(v128.load(at), i8x16.splat(0x61)), i8x16.splat(26));
  return <u64>(<u32>i8x16.bitmask(isLetterByte));
}

function spacesAt(at: i32): u64 {
  return <u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(0x20))));
}

/**
 * Returns how many of the sixteen bytes at `at` are small letters or digits in a row. Bytes whose bit is set
 * in `known` count as such.
 */
function plainRun(at: i32, known: i32): i32 {
  const bytes = v128.load(textAt + at);
  const letters = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x61)), i8x16.splat(26));
  const digits = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10));
  return ctz(~(i8x16.bitmask(v128.or(letters, digits)) | known) | 0x10000);
}

/**
 * Reads a mark, or a word that does not begin with a plain letter. Returns how many words are handed on, as
 * `end` does.
 */
function readOther(kind: i32): i32 {
  const at = position;
  position = at + 1;
  switch (kind) {
    case kindOpening:
      isOpening = true;
      return 0;
    case kindEnd:
      return is(isBehindEnd, at + 1) ? end() : 0;
    case kindLine:
      return readLineEnd(at + 1);
    case kindBackslash:
      return readEscape(at);
    case kindStar:
      if (is(isBeforeAnything, at - 1) && is(isBehindAnything, at + 1)) add(mark(anything));
      return 0;
    case kindAt:
      if (kindOf(at - 1) < kindLower) add(mark(fileAt));
      return 0;
    case kindSlash:
      if (at > 0 && textByteAt(at - 1) === space && is(isBehindRoot, at + 1)) add(mark(rootPath));
      if (textByteAt(at + 1) === slash) isOpening = false;
      return 0;
    case kindApostrophe:
      if (kindOf(at - 1) < kindLower) isOpening = true;
      return 0;
    case kindHash:
      isOpening = false;
      return 0;
    case kindParenthesis:
      if (kindOf(at - 1) >= kindLower) add(mark(call));
      return 0;
    case kindBacktick:
      if (kindOf(at - 1) < kindLower && kindOf(at + 1) >= kindLower) add(mark(code));
      return 0;
    case kindMark:
      position = at + 2;
      return 0;
    case kindLongMark:
      isOpening = true;
      position = at + 3;
      return 0;
    default:
      readRest(at);
      return 0;
  }
}

/** Ends the sentence and returns how many words are handed on; 0 where it does not pass. */
function end(): i32 {
  const complete = count > sharedCount && passes() ? count : 0;
  forget();
  return complete;
}

/** Forgets the words of the sentence; the tables still hold them for the caller. */
function forget(): void {
  count = 0;
  sharedCount = 0;
  beginningWords = 0;
  passedTo = 0;
  filteredTo = 0;
  isOpening = true;
}

/** Begins the next piece of the sentence with the last words of this one. */
function keepShared(): void {
  const moved = countMax - shared;
  memory.copy(tables + wordsAt, tables + wordsAt + moved * 4, shared * 4);
  memory.copy(tables + opensAt, tables + opensAt + moved, shared);
  beginningWords >>= moved;
  count = shared;
  sharedCount = shared;
  passedTo -= moved;
  filteredTo = shared;
  isHanded = false;
}

/** Tells whether a phrase ends in the sentence, or has its third word there. */
function passes(): bool {
  if (slotMask === 0) return true;
  for (let rest = beginningWords & (~(<u64>0) << max(filteredTo - 2, 0)); rest !== 0; ) {
    const index = 63 - <i32>clz(rest);
    if (index + 3 <= passedTo) break;
    rest ^= (<u64>1) << index;
    passedTo = max(passedTo, endOfPhrase(index));
  }
  filteredTo = count;
  return passedTo > 0;
}

/**
 * Returns the end of the longest phrase of up to three words, or of the third word of a longer one. Returns 0
 * where no phrase begins.
 */
function endOfPhrase(index: i32): i32 {
  const at = tables + wordsAt + (index << 2);
  const one = load<i32>(at);
  const two = mix(mix(emptyHash, one), load<i32>(at, 4));
  if (index + 2 < count && isBeginning(toNumber(mix(two, load<i32>(at, 8))))) return index + 3;
  if (index + 1 < count && isBeginning(toNumber(two))) return index + 2;
  return isBeginning(one) ? index + 1 : 0;
}

function add(word: i32): void {
  store<i32>(tables + wordsAt + count * 4, word);
  store<u8>(tables + opensAt + count, isOpening ? 1 : 0);
  beginningWords |= (<u64>bitOf(filterAt, word)) << count;
  count += 1;
  isOpening = false;
}

function bitOf(bits: i32, number: i32): i32 {
  return (load<i32>(tables + bits + (((number & 0xffff) >>> 5) << 2)) >>> (number & 31)) & 1;
}

/**
 * Tells whether a phrase begins with what has this number. An empty slot of the table is 0, and at least half
 * of the slots are.
 */
function isBeginning(number: i32): bool {
  if (bitOf(beginningBitsAt, number) === 0) return false;
  let slot = number;
  let found = beginningIn(slot);
  while (found !== 0 && found !== number + 1) {
    slot += 1;
    found = beginningIn(slot);
  }
  return found !== 0;
}

function beginningIn(slot: i32): i32 {
  return load<i32>(tables + beginningsAt + ((slot & slotMask) << 2));
}

/** Reads a word that begins at `start`, letter by letter. */
function readRest(start: i32): void {
  let hash = emptyWord;
  let eight: u64 = 0;
  let bits: u64 = 0;
  let kindBefore: i32 = 0;
  let at = start;
  while (at < length) {
    const byte = <i32>load<u8>(textAt + at);
    const kind = byteIn(0, byte);
    if (kind < kindLower || (kind === kindUpper && kindBefore === kindLower)) break;
    at += 1;
    kindBefore = kind;
    if (kind === kindAccent) {
      at += 1;
      continue;
    }
    let letter = kind === kindUpper ? byte | 0x20 : byte;
    if (kind === kindAccented) {
      const second = at < length ? <i32>load<u8>(textAt + at) : 0;
      letter = byteIn(accentsAt, second & 31);
      at += 1;
    }
    eight |= (<u64>letter) << bits;
    bits += 8;
    if (bits === 64) {
      hash = mixEight(hash, eight);
      eight = 0;
      bits = 0;
    }
  }
  if (bits > 0) hash = mixEight(hash, eight);
  endWord(start, at, hash);
}

function endWord(start: i32, at: i32, hash: u64): void {
  const upper = <i32>(hash >> 32);
  if (isTextDigit(textByteAt(start))) addNumber(start, at, toNumber(upper));
  else {
    add(toNumber(upper));
    position = at;
  }
}

/** Hashes eight letters of a word in one step. The last letters of a word are padded with zeros. */
function mixEight(hash: u64, letters: u64): u64 {
  const mixed = (hash ^ letters) * goldenRatio;
  return mixed ^ (mixed >> 32);
}

/**
 * Ends a line. A next line that begins with a letter or a quote belongs to the same sentence, as in wrapped
 * prose, SQL and JSON.
 */
function readLineEnd(start: i32): i32 {
  let at = start;
  while (at < length && is(isBlank, at)) at += 1;
  const next = kindOf(at);
  const goesOn = next < kindLower ? next === kindOpening || next === kindApostrophe : next !== kindDigit;
  const complete = goesOn ? 0 : end();
  isOpening = true;
  position = at;
  return complete;
}

/** Reads the JSON escapes for spaces and line ends. */
function readEscape(at: i32): i32 {
  const escaped = textByteAt(at + 1);
  if (escaped === 0x6e) return readLineEnd(at + 2);
  position = escaped === 0x74 || escaped === 0x72 ? at + 2 : at + 1;
  return 0;
}

/** Adds a word that begins with a digit. An address ends behind the word that it begins with. */
function addNumber(start: i32, endOfWord: i32, word: i32): void {
  const address = textByteAt(endOfWord) === dot ? addressAt(start) : -1;
  if (address >= 0) add(mark(address));
  else add(isSetuidMode(start, endOfWord) ? mark(setuidMode) : word);
  position = address >= 0 ? addressEnd : endOfWord;
}

function is(sign: i32, at: i32): bool {
  return (byteIn(signsAt, textByteAt(at)) & sign) !== 0;
}

function mark(index: i32): i32 {
  return load<i32>(tables + marksAt + (index << 2));
}

/** Joins two words with FNV-1a in 32 bits. */
function mix(hash: i32, byte: i32): i32 {
  return (hash ^ byte) * 0x01000193;
}

/**
 * Returns the upper bits of a hash, which are better mixed. It takes 30 of them, which V8 keeps as a small
 * integer on all platforms.
 */
function toNumber(hash: i32): i32 {
  return (hash ^ (hash >>> 15)) & 0x3fffffff;
}
