import { isAlphanumeric, isDigit, readHex } from '../scan/bytes.ts';
import type { EscapeDecoder, Output } from './unescape.ts';

/** Those named references of HTML that stand for ASCII characters, spaces, or nothing visible. */
const named = new Map(
  Object.entries({
    ...{ amp: '&', AMP: '&', lt: '<', LT: '<', gt: '>', GT: '>', quot: '"', QUOT: '"', apos: "'" },
    ...{ Tab: '\t', NewLine: '\n', nbsp: ' ', ensp: ' ', emsp: ' ', thinsp: ' ', shy: '', zwj: '', zwnj: '' },
    ...{
      excl: '!',
      num: '#',
      dollar: '$',
      percnt: '%',
      lpar: '(',
      rpar: ')',
      ast: '*',
      midast: '*',
      plus: '+',
    },
    ...{ comma: ',', period: '.', sol: '/', colon: ':', semi: ';', equals: '=', quest: '?', commat: '@' },
    ...{ lsqb: '[', lbrack: '[', bsol: '\\', rsqb: ']', rbrack: ']', Hat: '^', lowbar: '_', UnderBar: '_' },
    ...{ grave: '`', lcub: '{', lbrace: '{', verbar: '|', vert: '|', rcub: '}', rbrace: '}', hyphen: '-' },
    ...{ dash: '-', minus: '-', ndash: '-', ZeroWidthSpace: '', NoBreak: '', lrm: '', rlm: '' },
  }),
);
const nameLengthMax = 14;
/** Leading zeros included; longer ones stay as they are. */
const digitsMax = 16;
const semicolon = 0x3b;

/** `&amp;`, `&#65;`, `&#x41;`; the numeric ones also without the semicolon, as browsers read them. */
export const htmlEntities: EscapeDecoder = {
  name: 'html',
  leads: [0x26],
  read(bytes: Buffer, at: number, out: Output): number {
    if (bytes[at + 1] !== 0x23) return readNamed(bytes, at, out);
    const isHex = ((bytes[at + 2] ?? 0) | 0x20) === 0x78;
    return isHex ? readNumber(bytes, at, at + 3, 16, out) : readNumber(bytes, at, at + 2, 10, out);
  },
};

function readNamed(bytes: Buffer, at: number, out: Output): number {
  let end = at + 1;
  while (end - at <= nameLengthMax && isAlphanumeric(bytes[end])) end += 1;
  if (bytes[end] !== semicolon) return 0;
  const text = named.get(bytes.toString('latin1', at + 1, end));
  if (text === undefined) return 0;
  if (text !== '') out.push(text.charCodeAt(0));
  return end + 1 - at;
}

function readNumber(bytes: Buffer, at: number, digitsAt: number, radix: 10 | 16, out: Output): number {
  let end = digitsAt;
  let codePoint = 0;
  while (end - digitsAt < digitsMax && (radix === 16 ? readHex(bytes, end, 1) >= 0 : isDigit(bytes[end]))) {
    codePoint = Math.min(codePoint * radix + readHex(bytes, end, 1), 0x11_0000);
    end += 1;
  }
  if (end === digitsAt || codePoint === 0 || codePoint > 0x10_ffff || (codePoint & 0x1f_f800) === 0xd800)
    return 0;
  const length = (bytes[end] === semicolon ? end + 1 : end) - at;
  out.pushCodePoint(codePoint);
  return length;
}
