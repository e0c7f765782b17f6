import { isAlphanumeric, isDigit } from '../../scan/bytes.ts';
import type { Mark } from './word-numbers.ts';

/* Numbers that mean something: addresses of IPv4 by where they lead, and modes of files that lend rights. */

export interface Address {
  readonly mark: Mark;
  readonly end: number;
}

const partsOfAddress = 4;
const dot = 0x2e;
const slash = 0x2f;
/** Behind it stands one host. */
const hostBits = 32;

/** The address, or range of addresses, that is written there in four decimals; undefined where none is, and for loopback and the like. */
export function addressAt(bytes: Buffer, start: number): Address | undefined {
  const parts: number[] = [];
  let at = start;
  for (; parts.length < partsOfAddress; at += 1) {
    const end = digitsEnd(bytes, at, 3);
    if (end === at) return undefined;
    parts.push(numberIn(bytes, at, end));
    at = end;
    if (parts.length < partsOfAddress && bytes[at] !== dot) return undefined;
  }
  // The loop has stepped over what stands behind the address.
  at -= 1;
  if (isAlphanumeric(bytes[at]) || parts.some((part) => part > 255)) return undefined;
  const end = bytes[at] === slash ? digitsEnd(bytes, at + 1, 2) : at;
  const isRange = end > at + 1 && numberIn(bytes, at + 1, end) < hostBits;
  const mark = markOf(parts as [number, number, number, number], isRange);
  return mark && { mark, end: isRange ? end : at };
}

function digitsEnd(bytes: Buffer, start: number, lengthMax: number): number {
  let at = start;
  while (at < start + lengthMax && isDigit(bytes[at])) at += 1;
  return at;
}

function numberIn(bytes: Buffer, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) number = number * 10 + (bytes[at] as number) - 0x30;
  return number;
}

/** RFC 1918, RFC 6598; and what clouds serve credentials at. */
function markOf([a, b, c, d]: [number, number, number, number], isRange: boolean): Mark | undefined {
  if (a === 169 && b === 254) return c === 169 && d === 254 ? 'metadataAddress' : undefined;
  if (a === 0 || a === 127 || a >= 224) return undefined;
  const isPrivate =
    a === 10 ||
    (a === 192 && b === 168) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 100 && b >= 64 && b < 128);
  if (isPrivate) return isRange ? 'privateRange' : 'privateAddress';
  return isRange ? undefined : 'publicAddress';
}

/** Four octal digits of which the first sets the user or group of who runs the file. */
export function isSetuidMode(bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== 4) return false;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte < 0x30 || byte > 0x37) return false;
  }
  return (((bytes[start] as number) - 0x30) & 6) !== 0;
}
