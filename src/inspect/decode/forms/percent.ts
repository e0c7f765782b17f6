import { readHex } from '../../kernel/bytes.ts';
import type { EscapeDecoder, Output } from '../unescape.ts';

const percentSign = 0x25;
const letterU = 0x75;
/**
 * The number of times that a sign may have been encoded before it is read in one step, and its bound. Each other
 * encoding is a view of its own, of which there are few.
 */
const layersMin = 3;
const layersMax = 64;

/**
 * Decodes `%41` (RFC 3986, 2.1), and `%u0041` as old scripts write it. Other text after `%` stays. A sign that was
 * encoded three times or more (`%252541`) is decoded at once.
 */
export const percent: EscapeDecoder = {
  name: 'percent',
  leads: [percentSign],
  read(bytes: Buffer, at: number, out: Output): number {
    const byte = readHex(bytes, at + 1, 2);
    if (byte >= 0) {
      const layers = byte === percentSign ? layersAt(bytes, at) : 1;
      const inner = layers < layersMin ? -1 : readHex(bytes, at + 2 * layers - 1, 2);
      out.push(inner >= 0 ? inner : byte);
      return inner >= 0 ? 2 * layers + 1 : 3;
    }
    if (bytes[at + 1] !== letterU) return 0;
    const codeUnit = readHex(bytes, at + 2, 4);
    if (codeUnit < 0 || (codeUnit & 0xf800) === 0xd800) return 0;
    out.pushCodePoint(codeUnit);
    return 6;
  },
};

/** Returns how many times the sign at a place was encoded: 3 for `%252541`. */
function layersAt(bytes: Buffer, at: number): number {
  let layers = 1;
  while (layers < layersMax && readHex(bytes, at + 2 * layers - 1, 2) === percentSign) layers += 1;
  return layers;
}

/** Decodes `+` as a space, in forms only. */
export const formSpace: EscapeDecoder = {
  name: 'form',
  leads: [0x2b],
  read(_bytes: Buffer, _at: number, out: Output): number {
    out.push(0x20);
    return 1;
  },
};
