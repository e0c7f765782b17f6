/*
 * One character that is written as an escape: `%2F` and `%252F` (RFC 3986, 2.1, once or more often), `\/`, `\u002f`, `\x2f` and these
 * with their backslashes doubled (JSON in JSON), `&#47;`, `&#x2f;` and `&amp;`.
 */

export interface Escaped {
  readonly code: number;
  /** The first byte behind it. */
  readonly end: number;
}

/** No escape that is read is longer. */
const repeatsMax = 4;
const digitsMax = 7;
const names: Readonly<Record<string, number>> = { amp: 0x26, lt: 0x3c, gt: 0x3e, quot: 0x22, apos: 0x27 };

const percent = 0x25;
const backslash = 0x5c;
const ampersand = 0x26;

export const beginsEscape = (byte: number | undefined): boolean =>
  byte === percent || byte === backslash || byte === ampersand;

/** The character; `more` where it ends beyond the bytes; undefined where there is no escape. */
export function readEscape(bytes: Buffer, at: number): Escaped | 'more' | undefined {
  switch (bytes[at]) {
    case percent:
      return readPercent(bytes, at + 1);
    case backslash:
      return readBackslash(bytes, at + 1);
    case ampersand:
      return readEntity(bytes, at + 1);
    default:
      return undefined;
  }
}

function readPercent(bytes: Buffer, start: number): Escaped | 'more' | undefined {
  let at = start;
  // `%2541` is `%41`, escaped once more.
  for (
    let i = 0;
    i < repeatsMax && bytes[at] === 0x32 && bytes[at + 1] === 0x35 && isHexAt(bytes, at + 2);
    i++
  )
    at += 2;
  return readHex(bytes, at, 2);
}

function readBackslash(bytes: Buffer, start: number): Escaped | 'more' | undefined {
  let at = start;
  for (let i = 0; i < repeatsMax && bytes[at] === backslash; i++) at++;
  const kind = bytes[at];
  if (kind === undefined) return 'more';
  if (kind === 0x75) return readHex(bytes, at + 1, 4);
  if (kind === 0x78) return readHex(bytes, at + 1, 2);
  return { code: kind, end: at + 1 };
}

function readEntity(bytes: Buffer, start: number): Escaped | 'more' | undefined {
  const text = bytes.toString('latin1', start, start + digitsMax + 3);
  const end = text.indexOf(';');
  if (end < 0) return text.length < digitsMax + 3 && /^#?[0-9a-z]*$/i.test(text) ? 'more' : undefined;
  const name = text.slice(0, end);
  const [, hex, digits] = /^#(?:x([0-9a-f]{1,7})|([0-9]{1,7}))$/i.exec(name) ?? [];
  const code = hex ? Number.parseInt(hex, 16) : digits ? Number(digits) : names[name.toLowerCase()];
  return code === undefined ? undefined : { code, end: start + end + 1 };
}

function readHex(bytes: Buffer, start: number, digits: number): Escaped | 'more' | undefined {
  let code = 0;
  for (let i = 0; i < digits; i++) {
    const byte = bytes[start + i];
    if (byte === undefined) return 'more';
    const value = hexValue(byte);
    if (value < 0) return undefined;
    code = code * 16 + value;
  }
  return { code, end: start + digits };
}

/** Also where the bytes end: then nobody knows yet. */
const isHexAt = (bytes: Buffer, at: number): boolean => {
  const byte = bytes[at];
  return byte === undefined || hexValue(byte) >= 0;
};

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
