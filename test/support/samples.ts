import { crcChecksum } from '../../src/inspect/checks/tokens.ts';
import { walletMakers } from './sample-wallets.ts';

/*
 * Writes out the brace expressions of detectors' examples; detector-fields.ts lists them. They are seeded: an example
 * stands for the same text at every run, and no file has to contain a token that looks alive.
 */

const digits = '0123456789';
const lower = 'abcdefghijklmnopqrstuvwxyz';
const upper = lower.toUpperCase();

const alphabets: Readonly<Record<string, string>> = {
  digits,
  lower,
  upper,
  letter: lower + upper,
  alnum: digits + lower + upper,
  loweralnum: digits + lower,
  upperalnum: digits + upper,
  hex: `${digits}abcdef`,
  HEX: `${digits}ABCDEF`,
  base32: `${upper}234567`,
  base58: `${digits}${lower}${upper}`.replace(/[0OIl]/g, ''),
  base64: `${digits}${lower}${upper}+/`,
  base64url: `${digits}${lower}${upper}-_`,
};

type Random = (below: number) => number;

function seededRandom(seed: string): Random {
  let state =
    [...seed].reduce((hash, character) => Math.imul(hash ^ character.charCodeAt(0), 16777619), 2166136261) |
    1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const draw = (alphabet: string, length: number, random: Random): string =>
  Array.from({ length }, () => alphabet[random(alphabet.length)]).join('');

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/** Makers of samples that are more than characters of an alphabet. */
const makers: Readonly<Record<string, (argument: string, random: Random) => string>> = {
  ...walletMakers,
  crc(length, random) {
    const body = draw(alphabets['alnum'] as string, Number(length) - 6, random);
    return body + crcChecksum(body);
  },
  postern(prefix, random) {
    const body = prefix + draw(alphabets['alnum'] as string, 43, random);
    return body + crcChecksum(body);
  },
  jwt(length, random) {
    const header = base64url('{"alg":"HS256","typ":"JWT"}');
    const payload = base64url(`{"sub":"${draw(digits, 10, random)}","iat":1700000000}`);
    return `${header}.${payload}.${draw(alphabets['base64url'] as string, Number(length), random)}`;
  },
  digits64: (length, random) => base64url(`1${draw(digits, Number(length) - 1, random)}`),
  basic(user, random) {
    return Buffer.from(`${user}:${draw(alphabets['alnum'] as string, 16, random)}`).toString('base64');
  },
};

/** Returns the example with its brace expressions written out; other braces stay. */
export function expandSample(text: string): string {
  const random = seededRandom(text);
  return text.replace(/\{([A-Za-z0-9]+):([^{}]+)\}/g, (whole, name: string, argument: string) => {
    const alphabet = alphabets[name];
    if (alphabet !== undefined && /^\d+$/.test(argument)) return draw(alphabet, Number(argument), random);
    return makers[name]?.(argument, random) ?? whole;
  });
}
