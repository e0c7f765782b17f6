import { textAt } from './memory';

/*
 * Looks for grams of four bytes at every second or fourth position, as src/detectors/matcher.ts explains.
 */

/** Where in the memory the tables of a matcher stand. */
let followersAt: i32 = 0;
let firstOfAt: i32 = 0;
let entriesAt: i32 = 0;
let startsAt: i32 = 0;
let valuesAt: i32 = 0;
let foldsAt: i32 = 0;
let hitsAt: i32 = 0;
let hitsMax: i32 = 0;
let comparisonsMax: i32 = 0;
let multiplier: u32 = 0;
let shift: u32 = 0;
let stride: i32 = 2;
/** Where the last call has stopped. */
let stoppedAt: i32 = 0;
/** Of the piece of text. */
let length: i32 = 0;
let comparisons: i32 = 0;

const entryBytes: i32 = 16;
const hitBytes: i32 = 8;

export function useTables(
  followers: i32,
  firstOf: i32,
  entries: i32,
  starts: i32,
  values: i32,
  folds: i32,
  hits: i32,
  hitCountMax: i32,
  comparisonCountMax: i32,
  factor: u32,
  by: u32,
  every: i32,
): void {
  followersAt = followers;
  firstOfAt = firstOf;
  entriesAt = entries;
  startsAt = starts;
  valuesAt = values;
  foldsAt = folds;
  hitsAt = hits;
  hitsMax = hitCountMax;
  comparisonsMax = comparisonCountMax;
  multiplier = factor;
  shift = by;
  stride = every;
}

export function position(): i32 {
  return stoppedAt;
}

/**
 * Writes which words have a gram from `from` to before `to` and where they start, and answers how many there are: words that stand
 * there, and, as their complements, such as do not lie in this piece of `lengthOfPiece` bytes as a whole. Stops early, at `position()`, after many comparisons or
 * where there might be no room for the next words.
 */
export function match(from: i32, to: i32, lengthOfPiece: i32): i32 {
  length = lengthOfPiece;
  comparisons = 0;
  return stride === 4 ? matchEvery<u32>(from, to) : matchEvery<u16>(from, to);
}

/** The size of `T` is the stride: a constant, and so each stride has code of its own. */
function matchEvery<T>(from: i32, to: i32): i32 {
  const step: i32 = <i32>sizeof<T>();
  const followers = followersAt;
  const factor = multiplier;
  const by = shift;
  let hits = 0;
  let at = from;
  for (; at < to; at += 4 * step) {
    const a = load<u32>(textAt + at) | 0x20202020;
    const b = load<u32>(textAt + at + step) | 0x20202020;
    const c = load<u32>(textAt + at + 2 * step) | 0x20202020;
    const d = load<u32>(textAt + at + 3 * step) | 0x20202020;
    const slotA = (a * factor) >> by;
    const slotB = (b * factor) >> by;
    const slotC = (c * factor) >> by;
    const slotD = (d * factor) >> by;
    const isA = load<u32>(followers + (slotA << 2)) >> (a >> 26);
    const isB = load<u32>(followers + (slotB << 2)) >> (b >> 26);
    const isC = load<u32>(followers + (slotC << 2)) >> (c >> 26);
    const isD = load<u32>(followers + (slotD << 2)) >> (d >> 26);
    if (((isA | isB | isC | isD) & 1) === 0) continue;
    if (isA & 1) hits = take(slotA, a, at, hits);
    if (isB & 1) hits = take(slotB, b, at + step, hits);
    if (isC & 1) hits = take(slotC, c, at + 2 * step, hits);
    if (isD & 1) hits = take(slotD, d, at + 3 * step, hits);
    if (hits > hitsMax || comparisons > comparisonsMax) {
      at += 4 * step;
      break;
    }
  }
  stoppedAt = at;
  return hits;
}

/** Adds the words whose gram this is and that stand, or may stand, around it. */
function take(slot: u32, four: u32, at: i32, count: i32): i32 {
  const head = entriesAt + (load<i32>(firstOfAt + (slot << 2)) << 2);
  // Beside the piece nobody knows what stands. Shifts count by the five lowest bits.
  const mayFollow = (load<u32>(head) >> load<u8>(textAt + at - 1)) | <u32>(at === 0);
  const mayPrecede = (load<u32>(head, 4) >> load<u8>(textAt + at + 4)) | <u32>(at + 4 >= length);
  if ((mayFollow & mayPrecede & 1) === 0) return count;
  let hits = count;
  const end = entriesAt + (load<i32>(head, 8) << 2);
  comparisons += (end - head) / entryBytes;
  for (let entry = head + entryBytes; entry < end; entry += entryBytes) {
    if (((four ^ load<u32>(entry)) & load<u32>(entry, 4)) !== 0) continue;
    const start = at - <i32>load<i16>(entry, 12);
    if (start >= 0 && (<u32>load<u8>(textAt + start) | 0x20) !== <u32>load<u8>(entry, 14)) continue;
    const word = load<i32>(entry, 8);
    const isWithin = liesWithin(word, start);
    if (isWithin && !standsAt(word, start)) continue;
    const hit = hitsAt + hits * hitBytes;
    store<i32>(hit, isWithin ? word : ~word);
    store<i32>(hit, start, 4);
    hits += 1;
  }
  return hits;
}

function liesWithin(word: i32, start: i32): bool {
  const count = load<i32>(startsAt + (word << 2), 4) - load<i32>(startsAt + (word << 2));
  return start >= 0 && start + count <= length;
}

function standsAt(word: i32, start: i32): bool {
  const from = load<i32>(startsAt + (word << 2));
  const count = load<i32>(startsAt + (word << 2), 4) - from;
  const values = valuesAt + from;
  const folds = foldsAt + from;
  for (let index = 0; index < count; index++)
    if ((load<u8>(textAt + start + index) | load<u8>(folds + index)) !== load<u8>(values + index))
      return false;
  return true;
}
