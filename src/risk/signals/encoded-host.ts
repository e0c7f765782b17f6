import { ownName } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

/*
 * Labels of a host name that carry data: whoever runs the name server of a domain reads what is asked for
 * below it, even where no connection comes about. Letters of host names have no case, so hexadecimal and
 * base32 are what such data is written in.
 */

const mayCarry = /(?:^|\.)(?:[0-9a-f]{8,}|[a-z2-7]{16,})\./;
const hexLabel = /^(?:[0-9a-f]{2}){4,}$/;
const base32Label = /^[a-z2-7]{16,}$/;
/** Addresses that are looked up backwards have one label for each digit (RFC 3596, 2.5). */
const reverseLookup = /\.arpa$/;

/** Bounds below which a name is usual: the bytes of a text, and the labels and digits of data that is none. */
const textBytesMin = 10;
const chainLabelsMin = 6;
const chainDigitsMin = 48;
const textCharacters = /^[\w .,:;/@=+%&?!#'"{}()[\]-]+$/;
const lettersShareMin = 0.4;

/** Reports a host name that carries encoded text, or many labels of hexadecimal data. */
export const encodedHost: SignalEngine = {
  name: 'content',
  assess({ target: { host } }) {
    if (!mayCarry.test(host) || !carriesData(host)) return undefined;
    return {
      engine: 'content',
      name: 'ENCODED_HOST',
      score: 1,
      details: ownName('the labels of the host name carry encoded data'),
    };
  },
};

function carriesData(host: string): boolean {
  if (reverseLookup.test(host)) return false;
  const labels = host.split('.').slice(0, -2);
  const isHex = labels.map((label) => hexLabel.test(label));
  const hex = labels.filter((_, at) => isHex[at]);
  const digits = hex.join('');
  if (hex.length >= chainLabelsMin && digits.length >= chainDigitsMin) return true;
  if (isText(Buffer.from(digits, 'hex'))) return true;
  return labels.some((label) => base32Label.test(label) && isText(fromBase32(label)));
}

function isText(bytes: Buffer): boolean {
  if (bytes.length < textBytesMin) return false;
  const text = bytes.toString('latin1');
  const letters = text.match(/[a-z]/gi)?.length ?? 0;
  return textCharacters.test(text) && letters >= lettersShareMin * text.length;
}

/** RFC 4648, 6, without padding. */
function fromBase32(label: string): Buffer {
  const bits = Array.from(label, (letter) =>
    'abcdefghijklmnopqrstuvwxyz234567'.indexOf(letter).toString(2).padStart(5, '0'),
  ).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
