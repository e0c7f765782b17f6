import { isTextDigit, kindDigit, kindLower, kindOf, textByteAt } from './word-bytes';

/* Recognises numbers with a meaning: IPv4 addresses by their network, and file modes that lend rights. */

const metadataAddress: i32 = 6;
const privateAddress: i32 = 7;
const privateRange: i32 = 8;
const publicAddress: i32 = 9;

const dot: i32 = 0x2e;
const slash: i32 = 0x2f;

/** The end of the address that was read last. */
export let addressEnd: i32 = 0;

/**
 * Returns the mark of an IPv4 address or range that begins at `start` and ends at `addressEnd`. Returns -1
 * for none, and for loopback and similar ones.
 */
export function addressAt(start: i32): i32 {
  let address: u32 = 0;
  let at = start;
  for (let part = 0; part < 4; part += 1) {
    if (part > 0) {
      if (textByteAt(at) !== dot) return -1;
      at += 1;
    }
    const endOfPart = digitsEnd(at, 3);
    const number = numberIn(at, endOfPart);
    if (endOfPart === at || number > 255) return -1;
    address = (address << 8) | number;
    at = endOfPart;
  }
  const kind = kindOf(at);
  if (kind >= kindLower && kind <= kindDigit) return -1;
  const endOfRange = textByteAt(at) === slash ? digitsEnd(at + 1, 2) : at;
  const isRange = endOfRange > at + 1 && numberIn(at + 1, endOfRange) < 32;
  const found = markOf(address, isRange);
  addressEnd = isRange ? endOfRange : at;
  return found;
}

/**
 * Returns the mark of an address, by RFC 1918, RFC 6598, and the address where clouds serve credentials; -1
 * for one without meaning.
 */
function markOf(address: u32, isRange: bool): i32 {
  if (address >> 16 === 0xa9fe) return address === 0xa9fea9fe ? metadataAddress : -1;
  const first = address >> 24;
  if (first === 0 || first === 127 || first >= 224) return -1;
  const isPrivate =
    first === 10 || address >> 16 === 0xc0a8 || address >> 20 === 0xac1 || address >> 22 === 0x191;
  if (isPrivate) return isRange ? privateRange : privateAddress;
  return isRange ? -1 : publicAddress;
}

/** Tells whether a word is four octal digits, the first of which makes a file run as its user or group. */
export function isSetuidMode(start: i32, endOfWord: i32): bool {
  if (endOfWord - start !== 4) return false;
  for (let at = start; at < endOfWord; at += 1) if ((textByteAt(at) & 0xf8) !== 0x30) return false;
  return (textByteAt(start) & 6) !== 0;
}

function digitsEnd(start: i32, digitsMax: i32): i32 {
  let at = start;
  while (at < start + digitsMax && isTextDigit(textByteAt(at))) at += 1;
  return at;
}

function numberIn(start: i32, endOfNumber: i32): u32 {
  let number: u32 = 0;
  for (let at = start; at < endOfNumber; at += 1) number = number * 10 + <u32>(textByteAt(at) - 0x30);
  return number;
}
