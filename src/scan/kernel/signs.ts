import { signsAt, textAt } from './memory';

/*
 * What rare things begin at single signs: quoted-printable, the heads of keys. A decoder is asked only where
 * its sign stands in such a place, and all of these are told of more often than they are there, never less often.
 */

// Flags of the whole text; src/scan/outline.ts has the same.
const hasJsonToken: u32 = 1 << 21;
const hasArmour: u32 = 1 << 22;
const hasTransferField: u32 = 1 << 23;
const hasQuoted: u32 = 1 << 25;
const hasQuotedWord: u32 = 1 << 26;
const hasGrid: u32 = 1 << 27;

const tab: i32 = 0x09;
const newline: i32 = 0x0a;
const carriageReturn: i32 = 0x0d;
const space: i32 = 0x20;
const bracket: i32 = 0x5b;

/** Blanks before a line end, and what stands between two escapes of one word. */
const gapMax: i32 = 32;
/** Groups of a token; what is longer is an item of a list. */
const periodMin: i32 = 4;
const periodMax: i32 = 48;
/** The signs of groups differ in these bits. */
const signMask: i32 = 0x1f;

let escapeEnd: i32 = 0;
let lastSpace: i32 = 0;
let spacePeriod: i32 = 0;
let spaceAgain: i32 = 0;

/** Forgets what stood in the text before. */
export function beginSigns(): void {
  escapeEnd = -gapMax - 1;
  lastSpace = -periodMax - 1;
  // Farther off than any group is long, whichever place follows.
  memory.fill(signsAt, 0x80, (signMask + 1) << 4);
}

function byteAt(at: i32): i32 {
  return load<u8>(textAt + at);
}

/** `eyJ`, with which objects of JSON begin in base64. */
export function takeJ(at: i32): u32 {
  return byteAt(at - 1) === 0x79 && byteAt(at - 2) === 0x65 ? hasJsonToken : 0;
}

/** `-----BEGIN` and `Transfer-Encoding`. */
export function takeHyphen(at: i32): u32 {
  const next = load<u32>(textAt + at + 1);
  if (next === 0x49474542) return load<u32>(textAt + at - 4) === 0x2d2d2d2d ? hasArmour : 0;
  if ((next | 0x20202020) !== 0x6f636e65) return 0;
  const isSecondHalf = (load<u32>(textAt + at - 4) | 0x20202020) === 0x72656673;
  return isSecondHalf && (load<u32>(textAt + at - 8) | 0x20202020) === 0x6e617274 ? hasTransferField : 0;
}

/** `=41`, and `=` at the end of a line: one of them, and two in one word. */
export function takeEquals(at: i32): u32 {
  const length = escapeLength(at);
  if (length === 0) return 0;
  const isNear = at - escapeEnd <= gapMax;
  escapeEnd = at + length;
  return isNear ? hasQuoted | hasQuotedWord : hasQuoted;
}

function escapeLength(at: i32): i32 {
  let end = at + 1;
  if (isHexDigit(byteAt(end))) return isHexDigit(byteAt(end + 1)) ? 3 : 0;
  while (end - at < gapMax && (byteAt(end) === space || byteAt(end) === tab)) end += 1;
  if (byteAt(end) === carriageReturn) end += 1;
  return byteAt(end) === newline ? end + 1 - at : 0;
}

/** An array of arrays; also where a piece of the text ends before it is told. */
export function takeBracket(at: i32, length: i32): u32 {
  let next = at + 1;
  while (next < length && byteAt(next) <= space) next += 1;
  return next === length || byteAt(next) === bracket ? hasGrid : 0;
}

/**
 * Whether a sign is one of many at one distance, with what may be of a token between them: as many as make sixteen characters. Each sign
 * has its slot, in which stands where it stood last, how far from the one before, and how often that came again.
 */
export function takeGroupSigns(block: i32, signs: u64): bool {
  let has: bool = false;
  for (let rest = signs; rest !== 0; rest &= rest - 1) {
    const at = block + <i32>ctz(rest);
    const slot = signsAt + ((byteAt(at) & signMask) << 4);
    const period = at - load<i32>(slot);
    const again = period === load<i32>(slot, 4) ? load<i32>(slot, 8) + 1 : 0;
    store<i32>(slot, at);
    store<i32>(slot, period, 4);
    store<i32>(slot, again, 8);
    if (again > 0 && areTokenGroups(at, period, again)) has = true;
  }
  return has;
}

/** The same of spaces, which are more frequent than all others together. */
export function takeSpaces(block: i32, spaces: u64): bool {
  let has: bool = false;
  let last = lastSpace;
  let before = spacePeriod;
  let again = spaceAgain;
  for (let rest = spaces; rest !== 0; rest &= rest - 1) {
    const at = block + <i32>ctz(rest);
    const period = at - last;
    again = period === before ? again + 1 : 0;
    last = at;
    before = period;
    if (again > 0 && areTokenGroups(at, period, again)) has = true;
  }
  lastSpace = last;
  spacePeriod = before;
  spaceAgain = again;
  return has;
}

/** `again` tells how often the distance came again. */
function areTokenGroups(at: i32, period: i32, again: i32): bool {
  if (period < periodMin || period > periodMax || (period === periodMin && again < 3)) return false;
  return areGroups(at - 2 * period, period) && hasTokenBytes(at, period);
}

/** What stands in both groups at the same place may be of the sign. */
function areGroups(at: i32, period: i32): bool {
  for (let one = at + 1; one < at + period; one += 1) {
    const byte = byteAt(one);
    const other = byteAt(one + period);
    if (byte !== other && !(isOfGroup(byte) && isOfGroup(other))) return false;
  }
  return true;
}

/** Whether the groups around the last three signs have a letter, and a digit, which only groups of three do without. */
function hasTokenBytes(at: i32, period: i32): bool {
  let hasLetter: bool = false;
  let hasDigit: bool = period === periodMin;
  for (let one = max(at - 3 * period, 0); one < at + period; one += 1) {
    const byte = byteAt(one);
    if (byte >= 0x30 && byte <= 0x39) hasDigit = true;
    else if (isLetter(byte)) hasLetter = true;
    if (hasLetter && hasDigit) return true;
  }
  return false;
}

function isLetter(byte: i32): bool {
  return <u32>((byte | 0x20) - 0x61) <= 25;
}

/** Letters, digits and `+/=-_.:@`. */
function isOfGroup(byte: i32): bool {
  if (isLetter(byte)) return true;
  return (byte >= 0x2d && byte <= 0x3a) || byte === 0x2b || byte === 0x3d || byte === 0x5f || byte === 0x40;
}

function isHexDigit(byte: i32): bool {
  return <u32>(byte - 0x30) <= 9 || <u32>((byte | 0x20) - 0x61) <= 5;
}
