import { ownName } from '../../core/safe-name.ts';
import { decodeBits } from '../../inspect/decode/bits.ts';
import { base32Code, base32HexCode } from '../../inspect/decode/forms/base32.ts';
import type { SignalEngine } from './engine.ts';

/*
 * Labels of a host name that carry data: whoever runs the name server of a domain reads what is asked for
 * below it, even where no connection comes about. Letters of host names have no case, so hexadecimal and
 * base32 are what such data is written in.
 */

/** Matches a label that is long enough for data, before the two that name the domain. */
const mayCarry = /(?:^|\.)(?:[0-9a-f-]{4,}|[a-z0-9-]{8,})\.[^.]*\./;
const hexLabel = /^[0-9a-f]{4,}$/;
/** Base32 and base32hex, and the labels that are written in them. */
const base32 = [
  { code: base32Code, label: /^[a-z2-7]{8,}$/ },
  { code: base32HexCode, label: /^[0-9a-v]{8,}$/ },
] as const;
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
  const labels = host
    .split('.')
    .slice(0, -2)
    .map((label) => label.replaceAll('-', ''));
  const hex = labels.filter((label) => hexLabel.test(label));
  const digits = hex.join('');
  if (hex.length >= chainLabelsMin && digits.length >= chainDigitsMin) return true;
  if (isText(Buffer.from(digits, 'hex'))) return true;
  return base32.some(({ code, label }) => {
    const coded = labels.filter((it) => label.test(it));
    // A label of its own may stand before those of the data.
    return [...coded, coded.join('')].some((it) => isText(decodeBits(Buffer.from(it), code)));
  });
}

function isText(bytes: Buffer): boolean {
  if (bytes.length < textBytesMin) return false;
  const text = bytes.toString('latin1');
  const letters = text.match(/[a-z]/gi)?.length ?? 0;
  return textCharacters.test(text) && letters >= lettersShareMin * text.length;
}
