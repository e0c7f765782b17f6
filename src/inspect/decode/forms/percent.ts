import { readHex } from '../../kernel/bytes.ts';
import type { EscapeDecoder, Output } from '../unescape.ts';

const percentSign = 0x25;
const letterU = 0x75;

/** Decodes `%41` (RFC 3986, 2.1), and `%u0041` as old scripts write it. Other text after `%` stays. */
export const percent: EscapeDecoder = {
  name: 'percent',
  leads: [percentSign],
  read(bytes: Buffer, at: number, out: Output): number {
    const byte = readHex(bytes, at + 1, 2);
    if (byte >= 0) {
      out.push(byte);
      return 3;
    }
    if (bytes[at + 1] !== letterU) return 0;
    const codeUnit = readHex(bytes, at + 2, 4);
    if (codeUnit < 0 || (codeUnit & 0xf800) === 0xd800) return 0;
    out.pushCodePoint(codeUnit);
    return 6;
  },
};

/** Decodes `+` as a space, in forms only. */
export const formSpace: EscapeDecoder = {
  name: 'form',
  leads: [0x2b],
  read(_bytes: Buffer, _at: number, out: Output): number {
    out.push(0x20);
    return 1;
  },
};
