import { textAt } from './memory';

/*
 * Looks for grams of four bytes at every second position, as src/detectors/matcher.ts explains.
 */

/** Where in the memory the tables of a matcher stand. */
let followersAt: i32 = 0;
let firstOfAt: i32 = 0;
let entriesAt: i32 = 0;
let hitsAt: i32 = 0;
let hitsMax: i32 = 0;
let multiplier: u32 = 0;
let shift: u32 = 0;
/** Where the last call has stopped. */
let stoppedAt: i32 = 0;

const entryBytes: i32 = 16;
const hitBytes: i32 = 8;

export function useTables(
  followers: i32,
  firstOf: i32,
  entries: i32,
  hits: i32,
  hitCountMax: i32,
  factor: u32,
  by: u32,
): void {
  followersAt = followers;
  firstOfAt = firstOf;
  entriesAt = entries;
  hitsAt = hits;
  hitsMax = hitCountMax;
  multiplier = factor;
  shift = by;
}

export function position(): i32 {
  return stoppedAt;
}

/**
 * Writes for each gram at an even position from `from` to before `to` its word and where that would start, and answers how many there
 * are. Stops early, at `position()`, where there might be no room for the next ones.
 */
export function match(from: i32, to: i32): i32 {
  const followers = followersAt;
  const factor = multiplier;
  const by = shift;
  let hits = 0;
  let at = from;
  for (; at < to; at += 8) {
    const a = load<u32>(textAt + at) | 0x20202020;
    const b = load<u32>(textAt + at, 2) | 0x20202020;
    const c = load<u32>(textAt + at, 4) | 0x20202020;
    const d = load<u32>(textAt + at, 6) | 0x20202020;
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
    if (isB & 1) hits = take(slotB, b, at + 2, hits);
    if (isC & 1) hits = take(slotC, c, at + 4, hits);
    if (isD & 1) hits = take(slotD, d, at + 6, hits);
    if (hits > hitsMax) {
      at += 8;
      break;
    }
  }
  stoppedAt = at;
  return hits;
}

/** Adds the words whose gram this is. */
function take(slot: u32, four: u32, at: i32, count: i32): i32 {
  let hits = count;
  const first = load<i32>(firstOfAt + (slot << 2));
  const end = load<i32>(firstOfAt + (slot << 2), 4);
  for (let entry = entriesAt + (first << 2); entry < entriesAt + (end << 2); entry += entryBytes) {
    if (((four ^ load<u32>(entry)) & load<u32>(entry, 4)) !== 0) continue;
    const start = at - <i32>load<i16>(entry, 12);
    if (start >= 0 && (<u32>load<u8>(textAt + start) | 0x20) !== <u32>load<u8>(entry, 14)) continue;
    const hit = hitsAt + hits * hitBytes;
    store<i32>(hit, load<i32>(entry, 8));
    store<i32>(hit, start, 4);
    hits += 1;
  }
  return hits;
}
