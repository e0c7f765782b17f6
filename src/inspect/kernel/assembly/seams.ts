import { addTo, seamsList } from './places';
import { byteAt, isAlphanumericByte } from './traits';

/*
 * Finds seams between literals that a program puts together (src/inspect/decode/forms/literals.ts). It may
 * report too many, never too few.
 */

const seamBytesMax: i32 = 64;

/**
 * Lists the closing quotes of literals that the next one may continue. `ends` has a bit for each quote in the
 * block at `block` that only joining bytes separate from the quote before it.
 */
export function takeSeams(block: i32, ends: u64): void {
  for (let rest = ends; rest !== 0; rest &= rest - 1) {
    const end = block + <i32>ctz(rest);
    if (!isOfLiteral(byteAt(end + 1))) continue;
    let start = end - 1;
    while (end - start <= seamBytesMax && !isQuote(byteAt(start))) start -= 1;
    if (end - start <= seamBytesMax && isOfLiteral(byteAt(start - 1))) addTo(seamsList, start);
  }
}

function isQuote(byte: i32): bool {
  return byte === 0x22 || byte === 0x27;
}

/** Tells whether a byte is a letter, a digit or one of `+-/=_`. */
function isOfLiteral(byte: i32): bool {
  return (
    isAlphanumericByte(byte) ||
    byte === 0x2d ||
    byte === 0x2f ||
    byte === 0x3d ||
    byte === 0x5f ||
    byte === 0x2b
  );
}
