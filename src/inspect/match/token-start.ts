import { isAlphanumeric, isHexDigit, isLetter, isLower, isUpper } from '../kernel/bytes.ts';

/*
 * Tells where a token may begin. `\b` in a pattern rejects a token behind the `n` of an escaped line feed
 * (`\nghp_…`) or the `D` of `%3D`; raw bodies are full of both. An underscore joins words and ends them, as a
 * dash does. Bytes are looked up, so that a hit inside a longer word costs no string.
 */

const backslash = 0x5c;
const percent = 0x25;
const letterU = 0x75;

/**
 * Tells whether the byte at `start` does not continue a word, or only seems to because an escape ends before
 * it.
 */
export function mayStartToken(bytes: Uint8Array, start: number): boolean {
  return !isAlphanumeric(bytes[start - 1]) || endsEscape(bytes, start);
}

/**
 * Tells whether the bytes are a word of their own, or a word within a name (`tax_id`, `customerSin`,
 * `sinNumber`, `CPF1`, `passnr`). Letters beyond ASCII separate, as in languages that write words together.
 */
export function standsAsWord(bytes: Uint8Array, start: number, end: number): boolean {
  if (!mayStartToken(bytes, start) && !isHump(bytes, start)) return false;
  return !isLetter(bytes[end]) || isHump(bytes, end) || isNumberWord(bytes, end);
}

/** The number of letters in the longest number word. */
const numberWordMax = 6;
/**
 * Words for "number" that are written directly behind the word they belong to. They are kept as numbers; see
 * `numberOf`.
 */
const numberWords: ReadonlySet<number> = new Set(
  'id nbr no nr num number numer numero nummer'.split(' ').map((word) => numberOf(Buffer.from(word), 0)),
);
const letterI = 0x69;
const letterN = 0x6e;
const letterS = 0x73;

function isNumberWord(bytes: Uint8Array, start: number): boolean {
  // German and its neighbours put a letter in between: `versicherungsnummer`.
  const first = (bytes[start] as number) | 0x20;
  const at = first === letterS ? start + 1 : start;
  const initial = (bytes[at] as number) | 0x20;
  return (initial === letterI || initial === letterN) && numberWords.has(numberOf(bytes, at));
}

/**
 * Returns the letters from `start` on, without case, as the digits of a number. Returns -1 where they are too
 * many.
 */
function numberOf(bytes: Uint8Array, start: number): number {
  let number = 0;
  let end = start;
  for (; isLetter(bytes[end]); end++) {
    if (end - start === numberWordMax) return -1;
    number = number * 32 + ((bytes[end] as number) & 0x1f);
  }
  return number;
}

/** The least length of base64 in which words stand by chance, and how far it is looked at on either side. */
const base64Length = 40;
/** The least share of neighbours of different kinds. Random base64 has 64 %, and paths and names at most 30 %. */
const base64ChangesMin = 0.45;

/**
 * Tells whether the bytes stand in the middle of random base64, where a short word and what stands beside it
 * mean nothing.
 */
export function standsInBase64(bytes: Uint8Array, start: number, end: number): boolean {
  let from = start;
  for (const last = start - base64Length; from > last && base64Kind(bytes[from - 1]) > 0; ) from--;
  let to = end;
  for (const last = end + base64Length; to < last && base64Kind(bytes[to]) > 0; ) to++;
  if (to - from < base64Length) return false;
  let changes = 0;
  for (let at = from + 1; at < to; at++)
    if (base64Kind(bytes[at]) !== base64Kind(bytes[at - 1])) changes += 1;
  return changes >= base64ChangesMin * (to - from);
}

const plusSign = 0x2b;
const slash = 0x2f;

/** Returns a number for each kind of byte in base64: sign, digit, capital or small letter. Others are 0. */
function base64Kind(byte: number | undefined): number {
  if (isLower(byte)) return 4;
  if (isUpper(byte)) return 3;
  if (isAlphanumeric(byte)) return 2;
  return byte === plusSign || byte === slash ? 1 : 0;
}

/** Tells whether neither a letter nor a digit stands beside the bytes. */
export function standsAlone(bytes: Uint8Array, start: number, end: number): boolean {
  return !isAlphanumeric(bytes[end]) && mayStartToken(bytes, start);
}

/** Tells whether a small letter meets a capital at `at`. */
const isHump = (bytes: Uint8Array, at: number): boolean => isLower(bytes[at - 1]) && isUpper(bytes[at]);

/** Tells whether an escape ends at `end`: `\n`, `\t` and the like, `%3D` or `\u003d`. */
function endsEscape(bytes: Uint8Array, end: number): boolean {
  if (bytes[end - 2] === backslash && 'bfnrt'.includes(String.fromCharCode(bytes[end - 1] ?? 0))) return true;
  if (!hexBefore(bytes, end, 2)) return false;
  return (
    bytes[end - 3] === percent ||
    (hexBefore(bytes, end, 4) && bytes[end - 5] === letterU && bytes[end - 6] === backslash)
  );
}

function hexBefore(bytes: Uint8Array, end: number, count: number): boolean {
  for (let index = end - count; index < end; index++) if (!isHexDigit(bytes[index])) return false;
  return true;
}
