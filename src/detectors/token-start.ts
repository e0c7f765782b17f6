/*
 * May a token begin here? `\b` in a pattern says no after the `n` of an escaped line feed (`\nghp_…`) or the `D` of `%3D`, though
 * there the token begins; raw bodies are full of both. An underscore joins words and ends them, as a dash does. Looked up in bytes, so that a hit inside a longer word costs no string.
 */

const isWordByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
);
const isHexByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9A-Fa-f]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

const backslash = 0x5c;
const percent = 0x25;
const letterU = 0x75;

/** Whether the byte at `start` does not continue a word, or only seems to because an escape ends before it. */
export function mayStartToken(bytes: Uint8Array, start: number): boolean {
  const before = bytes[start - 1] ?? 0;
  if (isWordByte[before] === 0) return true;
  return endsEscape(bytes, start);
}

/** `\n`, `\t` and the like, `%3D`, `\u003d`. */
function endsEscape(bytes: Uint8Array, end: number): boolean {
  if (bytes[end - 2] === backslash && 'bfnrt'.includes(String.fromCharCode(bytes[end - 1] ?? 0))) return true;
  if (!hexBefore(bytes, end, 2)) return false;
  return (
    bytes[end - 3] === percent ||
    (hexBefore(bytes, end, 4) && bytes[end - 5] === letterU && bytes[end - 6] === backslash)
  );
}

function hexBefore(bytes: Uint8Array, end: number, count: number): boolean {
  for (let index = end - count; index < end; index++) if (isHexByte[bytes[index] ?? 0] === 0) return false;
  return true;
}
