import { filterAt, goBytes, longPairsAt, pairsAt, placesAt, textAt } from './memory';

/*
 * Looks for grams of four and six bytes at every second or fourth position, as src/inspect/match/matcher.ts
 * explains.
 */

/** Addresses of the tables of a matcher, but for its filter. */
let longFilterAt: i32 = 0;
let slotsAt: i32 = 0;
let longSlotsAt: i32 = 0;
let entriesAt: i32 = 0;
let startsAt: i32 = 0;
let valueBlockAt: i32 = 0;
let foldsAt: i32 = 0;
let needsAt: i32 = 0;
let hitsAt: i32 = 0;
let hitsMax: i32 = 0;
let comparisonsMax: i32 = 0;
let multiplier: u32 = 0;
let shift: u32 = 0;
/** The shift for grams of six bytes; 0 where there are none. */
let longShift: u32 = 0;
let stride: i32 = 2;
/** The place where the last call stopped. */
let stoppedAt: i32 = 0;
/** The length of the piece of text. */
let length: i32 = 0;
let comparisons: i32 = 0;

/** The shift of a table with all possible slots. */
const fullShift: u32 = 16;
const slotShift: u32 = 2;
const headBytes: i32 = 32;
const entryBytes: i32 = 24;
const hitBytes: i32 = 8;
const pairBytes: i32 = 8;
/**
 * The number of bytes before a gram that an entry knows. With the gram and the bytes behind it there are
 * eight.
 */
const before: i32 = 2;
const allBits: u64 = ~0;

export function useTables(
  longFilter: i32,
  slots: i32,
  longSlots: i32,
  entries: i32,
  starts: i32,
  values: i32,
  folds: i32,
  needs: i32,
  hits: i32,
  hitCountMax: i32,
  comparisonCountMax: i32,
  factor: u32,
  by: u32,
  byLong: u32,
  every: i32,
): void {
  longFilterAt = longFilter;
  slotsAt = slots;
  longSlotsAt = longSlots;
  entriesAt = entries;
  startsAt = starts;
  valueBlockAt = values;
  foldsAt = folds;
  needsAt = needs;
  hitsAt = hits;
  hitsMax = hitCountMax;
  comparisonsMax = comparisonCountMax;
  multiplier = factor;
  shift = by;
  longShift = byLong;
  stride = every;
}

export function position(): i32 {
  return stoppedAt;
}

/**
 * Lists the words that have a gram in the span, with their starts, and returns their number. A word that
 * reaches over the piece is listed as its complement. It stops early, at `position()`, after many comparisons
 * or where room may be lacking.
 */
export function match(from: i32, to: i32, lengthOfPiece: i32): i32 {
  length = lengthOfPiece;
  comparisons = 0;
  if (shift !== fullShift)
    return stride === 4 ? matchEvery<u32, u32>(from, to) : matchEvery<u16, u32>(from, to);
  return stride === 4 ? matchEvery<u32, u16>(from, to) : matchEvery<u16, u16>(from, to);
}

/**
 * Finds the words of a span. The size of `T` is the stride. `S` has two bytes where the table has all slots,
 * so that each variant is compiled with constants. The processor cannot predict which grams hit, and a wrong
 * guess costs as much as five grams. So every place is written to a list without a branch, and a place that
 * does not count is overwritten.
 */
function matchEvery<T, S>(from: i32, to: i32): i32 {
  let hits = 0;
  for (let at = from; at < to; at += goBytes) {
    const goEnd = min(to, at + goBytes);
    const pairsEnd = findPairs(findPlaces<T, S>(at, goEnd));
    const longPairsEnd = longShift === 0 ? longPairsAt : findLongPairs(findLongPlaces(at, goEnd));
    // The entry behind each list is greater than all places.
    store<i32>(pairsEnd, i32.MAX_VALUE);
    store<i32>(longPairsEnd, i32.MAX_VALUE);
    let shortPair = pairsAt;
    let longPair = longPairsAt;
    while (shortPair < pairsEnd || longPair < longPairsEnd) {
      const isShort = load<i32>(shortPair) <= load<i32>(longPair);
      const pair = isShort ? shortPair : longPair;
      if (isShort) shortPair += pairBytes;
      else longPair += pairBytes;
      const place = load<i32>(pair);
      // Four places are looked at in one step, so the last ones may lie behind the span.
      if (place >= to) break;
      hits = take(load<i32>(pair, 4), place, hits);
      if (hits > hitsMax || comparisons > comparisonsMax) {
        // The other list may have an entry at this place.
        const other = load<i32>(isShort ? longPair : shortPair);
        if (other === place) hits = take(load<i32>(isShort ? longPair : shortPair, 4), place, hits);
        stoppedAt = place + <i32>sizeof<T>();
        return hits;
      }
    }
  }
  stoppedAt = to;
  return hits;
}

/**
 * Lists the places where grams may stand, and returns the end of the list. The filter tells kinds of bytes by
 * three of the five bits in which letters differ. So it has one byte for each slot and fits into the nearest
 * caches beside the text.
 */
function findPlaces<T, S>(from: i32, to: i32): i32 {
  const step: i32 = <i32>sizeof<T>();
  const factor = multiplier;
  let put = placesAt;
  for (let at = from; at < to; at += 4 * step) {
    const a = load<u32>(textAt + at) | 0x20202020;
    const b = load<u32>(textAt + at + step) | 0x20202020;
    const c = load<u32>(textAt + at + 2 * step) | 0x20202020;
    const d = load<u32>(textAt + at + 3 * step) | 0x20202020;
    const isA = <u32>load<u8>(slotOf<S>(a * factor), filterAt) >> ((a >> 26) & 7);
    const isB = <u32>load<u8>(slotOf<S>(b * factor), filterAt) >> ((b >> 26) & 7);
    const isC = <u32>load<u8>(slotOf<S>(c * factor), filterAt) >> ((c >> 26) & 7);
    const isD = <u32>load<u8>(slotOf<S>(d * factor), filterAt) >> ((d >> 26) & 7);
    store<i32>(put, at);
    put += (isA & 1) << 2;
    store<i32>(put, at + step);
    put += (isB & 1) << 2;
    store<i32>(put, at + 2 * step);
    put += (isC & 1) << 2;
    store<i32>(put, at + 3 * step);
    put += (isD & 1) << 2;
  }
  return put;
}

function slotOf<S>(product: u32): u32 {
  return sizeof<S>() === 2 ? product >> fullShift : product >> shift;
}

/**
 * Lists the places where grams of six bytes may stand, at every second position. Their filter uses three more
 * bits of the hash.
 */
function findLongPlaces(from: i32, to: i32): i32 {
  const bits = longShift - 3;
  let put = placesAt;
  for (let at = from; at < to; at += 4) {
    const a = longHash(at) >> bits;
    const b = longHash(at + 2) >> bits;
    const isA = <u32>load<u8>(longFilterAt + (a >> 3)) >> (a & 7);
    const isB = <u32>load<u8>(longFilterAt + (b >> 3)) >> (b & 7);
    store<i32>(put, at);
    put += (isA & 1) << 2;
    store<i32>(put, at + 2);
    put += (isB & 1) << 2;
  }
  return put;
}

/** Hashes six bytes, as `src/inspect/match/matcher.ts` does. */
function longHash(at: i32): u32 {
  const four = load<u32>(textAt + at) | 0x20202020;
  const two = <u32>load<u16>(textAt + at, 4) | 0x2020;
  return four * 0x9e3779b1 + two * 0x85ebca6b;
}

/**
 * Lists the places that have a gram and fitting neighbours, each with its list of entries. Returns the end.
 */
function findPairs(placesEnd: i32): i32 {
  let put = pairsAt;
  for (let place = placesAt; place < placesEnd; place += 4) {
    const at = load<i32>(place);
    const four = load<u32>(textAt + at) | 0x20202020;
    put = putPair(put, at, slotsAt + (slotOf<u32>(four * multiplier) << slotShift));
  }
  return put;
}

function findLongPairs(placesEnd: i32): i32 {
  let put = longPairsAt;
  for (let place = placesAt; place < placesEnd; place += 4) {
    const at = load<i32>(place);
    put = putPair(put, at, longSlotsAt + ((longHash(at) >> longShift) << slotShift));
  }
  return put;
}

/**
 * Writes the place and its list, and returns the place behind them. Where the neighbours rule it out, it
 * returns the same place.
 */
function putPair(put: i32, at: i32, slot: i32): i32 {
  const head = entriesAt + load<i32>(slot);
  // Bytes beside the piece are unknown. Shifts count by the five lowest bits.
  const isAtEdge = <u32>(at < before) | <u32>(at + 8 - before > length);
  const fits =
    (load<u32>(head) >> load<u8>(textAt + at - 1)) &
    (load<u32>(head, 4) >> load<u8>(textAt + at + 3)) &
    (load<u32>(head, 8) >> load<u8>(textAt + at + 4));
  const differs = (load<u64>(textAt + at - before) ^ load<u64>(head, 16)) & load<u64>(head, 24);
  store<i32>(put, at);
  store<i32>(put, head, 4);
  return put + (((isAtEdge | (fits & <u32>(differs === 0))) & 1) << 3);
}

/** Adds the words of the list that stand, or may stand, around the gram. Returns the number of hits then. */
function take(head: i32, at: i32, count: i32): i32 {
  const around = load<u64>(textAt + at - before);
  const known = knownAround(at);
  let hits = count;
  const end = head + load<i32>(head, 12);
  comparisons += (end - head) / entryBytes;
  for (let entry = head + headBytes; entry < end; entry += entryBytes) {
    if (((around ^ load<u64>(entry)) & load<u64>(entry, 8) & known) !== 0) continue;
    const word = load<i32>(entry, 16);
    const start = at - load<i32>(entry, 20);
    const isWithin = liesWithin(word, start);
    if (isWithin && (!standsAt(word, start) || isInsideWord(word, start))) continue;
    const hit = hitsAt + hits * hitBytes;
    store<i32>(hit, isWithin ? word : ~word);
    store<i32>(hit, start, 4);
    hits += 1;
  }
  return hits;
}

/** Returns a mask of those of the eight bytes around a gram that belong to the piece. */
function knownAround(at: i32): u64 {
  let known = allBits;
  if (at < before) known <<= 8 * <u64>(before - at);
  const beyond = at + 8 - before - length;
  if (beyond > 0) known &= allBits >> (8 * <u64>beyond);
  return known;
}

function liesWithin(word: i32, start: i32): bool {
  const count = load<i32>(startsAt + (word << 2), 4) - load<i32>(startsAt + (word << 2));
  return start >= 0 && start + count <= length;
}

function standsAt(word: i32, start: i32): bool {
  const from = load<i32>(startsAt + (word << 2));
  const count = load<i32>(startsAt + (word << 2), 4) - from;
  const values = valueBlockAt + from;
  const folds = foldsAt + from;
  for (let index = 0; index < count; index++)
    if ((load<u8>(textAt + start + index) | load<u8>(folds + index)) !== load<u8>(values + index))
      return false;
  return true;
}

const backslash: u32 = 0x5c;
const percent: u32 = 0x25;
const letterU: u32 = 0x75;

// Needs of a word beside it, as in matcher.ts.
const isWhole: u32 = 1;
const startsToken: u32 = 2;

/**
 * Tells whether a word plainly stands inside another one although it needs to be whole or to begin a token.
 * At the edge of the piece, behind an escape and where letters change case,
 * `src/inspect/match/token-start.ts` decides instead.
 */
function isInsideWord(word: i32, start: i32): bool {
  const need = <u32>load<u8>(needsAt + word);
  if (need === 0) return false;
  const at = textAt + start;
  if (start >= 6) {
    const before = load<u8>(at - 1);
    const mayEndEscape =
      load<u8>(at - 2) === backslash || load<u8>(at - 3) === percent || load<u8>(at - 5) === letterU;
    const isHumped = need === isWhole && isHump(before, load<u8>(at));
    if ((isLetterByte(before) || isDigitByte(before)) && !mayEndEscape && !isHumped) return true;
  }
  if (need === startsToken) return false;
  const count = load<i32>(startsAt + (word << 2), 4) - load<i32>(startsAt + (word << 2));
  if (start + count >= length) return false;
  const behind = load<u8>(at + count);
  return isLetterByte(behind) && !isInitial(behind) && !isHump(load<u8>(at + count - 1), behind);
}

function isLetterByte(byte: u32): bool {
  return (byte | 0x20) - 0x61 < 26;
}

function isDigitByte(byte: u32): bool {
  return byte - 0x30 < 10;
}

function isHump(one: u32, next: u32): bool {
  return one - 0x61 < 26 && next - 0x41 < 26;
}

/**
 * Tells whether a letter is the first of a word for numbers that is written without a gap: `passnr`, `taxid`.
 */
function isInitial(byte: u32): bool {
  const lower = byte | 0x20;
  return lower === 0x69 || lower === 0x6e || lower === 0x73;
}
