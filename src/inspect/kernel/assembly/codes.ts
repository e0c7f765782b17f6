import { addTo, codesList } from './places';
import { betweenCodes, byteAt, furtherTraitsOf, isDigitByte, isHexDigitByte, ofCodes } from './traits';

/*
 * Finds bytes written as numbers (src/inspect/decode/forms/char-codes.ts): runs with enough codes of text, in
 * decimal or hexadecimal.
 */

/** The least number of bytes of a run, which is more than a UUID has. */
const runBytesMin: i32 = 37;
const codesMin: i32 = 12;

const allBits: u64 = ~0;

/** The end of the run that was looked at last. */
let runEnd: i32 = 0;

export function beginCodes(): void {
  runEnd = 0;
}

/**
 * Takes the digits of the block at `block`, one bit each; `codes` are the bytes that are `ofCodes`. Short
 * runs within the block are skipped.
 */
export function takeDigits(block: i32, digits: u64, codes: u64, length: i32): void {
  const first = codes & ~(codes + 1);
  const last = codes & ~(allBits >> clz(~codes));
  const four = codes & (codes >> 1) & (codes >> 2) & (codes >> 3);
  const sixteen = four & (four >> 4) & (four >> 8) & (four >> 12);
  const isLong = (sixteen & (sixteen >> 16)) !== 0;
  for (let rest = isLong ? digits : digits & (first | last); rest !== 0; rest &= rest - 1) {
    const at = block + <i32>ctz(rest);
    if (at < runEnd) continue;
    let start = at;
    while (start > runEnd && (furtherTraitsOf(start - 1) & ofCodes) !== 0) start -= 1;
    let end = at + 1;
    while ((furtherTraitsOf(end) & ofCodes) !== 0) end += 1;
    runEnd = end;
    if (end - start < runBytesMin) continue;
    if (end >= length || holdsCodes(start, end)) addTo(codesList, start);
  }
}

function holdsCodes(start: i32, end: i32): bool {
  let decimals: i32 = 0;
  let hexes: i32 = 0;
  let at = start;
  while (at < end) {
    const byte = byteAt(at);
    if ((furtherTraitsOf(at) & betweenCodes) !== 0) {
      // Digits next to these signs are read as hexadecimal.
      if (byte === 0x2e || byte === 0x2d) hexes = 0;
      at += 1;
      continue;
    }
    let numberEnd = at;
    let decimal: i32 = 0;
    for (; numberEnd < end && (furtherTraitsOf(numberEnd) & betweenCodes) === 0; numberEnd += 1) {
      const digit = byteAt(numberEnd);
      decimal = decimal >= 0 && isDigitByte(digit) && numberEnd - at < 3 ? decimal * 10 + digit - 0x30 : -1;
    }
    const isMarked = numberEnd - at === 4 && byte === 0x30 && byteAt(at + 1) === 0x78;
    const digitsAt = isMarked ? at + 2 : at;
    const isHex =
      numberEnd - digitsAt === 2 && isHexDigitByte(byteAt(digitsAt)) && isHexDigitByte(byteAt(digitsAt + 1));
    decimals = isText(decimal) ? decimals + 1 : 0;
    hexes =
      isHex && isText((hexValueOf(byteAt(digitsAt)) << 4) | hexValueOf(byteAt(digitsAt + 1))) ? hexes + 1 : 0;
    if (decimals >= codesMin || hexes >= codesMin) return true;
    at = numberEnd;
  }
  return false;
}

function hexValueOf(digit: i32): i32 {
  return isDigitByte(digit) ? digit - 0x30 : (digit | 0x20) - 0x57;
}

function isText(byte: i32): bool {
  return (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
