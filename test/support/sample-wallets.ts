import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import {
  base32Alphabet,
  base58,
  bech32,
  bech32Checksum,
  bip39List,
  crc16,
  pkcs8Head,
  rippleBase58,
} from '../../src/inspect/checks/wallets.ts';

/* Makes wallet keys with their checksums for the examples of detectors: see samples.ts. */

type Random = (below: number) => number;
type Maker = (argument: string, random: Random) => string;

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const randomBytes = (length: number, random: Random): Buffer =>
  Buffer.from(Array.from({ length }, () => random(256)));

function encodeBase58(bytes: Buffer, alphabet: string): string {
  let text = '';
  for (let rest = BigInt(`0x${bytes.toString('hex')}`); rest > 0n; rest /= 58n)
    text = alphabet[Number(rest % 58n)] + text;
  return text;
}

const withHash = (bytes: Buffer): Buffer => Buffer.concat([bytes, sha256(sha256(bytes)).subarray(0, 4)]);

/** Makes a key; the argument is the first bytes in hexadecimal and the number of further bytes: `80-32`. */
function base58check(alphabet: string): Maker {
  return (argument, random) => {
    const [head = '', length] = argument.split('-');
    const bytes = Buffer.concat([Buffer.from(head, 'hex'), randomBytes(Number(length), random)]);
    return encodeBase58(withHash(bytes), alphabet);
  };
}

/** The argument is the part before the `1`. */
const bech32Key: Maker = (prefix, random) => {
  const digits = Array.from({ length: 52 }, () => random(32));
  const checksum = bech32Checksum(prefix, [...digits, 0, 0, 0, 0, 0, 0]) ^ 1;
  const all = [...digits, ...[25, 20, 15, 10, 5, 0].map((shift) => (checksum >> shift) & 31)];
  return `${prefix}1${all.map((digit) => bech32[digit]).join('')}`;
};

/** The argument is the number of words. */
const phrase: Maker = (argument, random) => {
  const entropy = randomBytes((Number(argument) / 3) * 4, random);
  const bits = [...Buffer.concat([entropy, sha256(entropy)])]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('')
    .slice(0, Number(argument) * 11);
  const words = bip39List();
  return (bits.match(/.{11}/g) ?? []).map((index) => words[Number.parseInt(index, 2)]).join(' ');
};

const stellarSeed: Maker = (_, random) => {
  const bytes = Buffer.concat([Buffer.from([18 << 3]), randomBytes(32, random), Buffer.alloc(2)]);
  bytes.writeUInt16LE(crc16(bytes.subarray(0, -2)), 33);
  let value = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let index = 0; index < 56; index++, value >>= 5n) text = base32Alphabet[Number(value & 31n)] + text;
  return text;
};

/** Base58 or, with the argument `list`, numbers. */
const keyPair: Maker = (argument, random) => {
  const seed = randomBytes(32, random);
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  const bytes = Buffer.concat([seed, spki.subarray(-32)]);
  return argument === 'list' ? `[${[...bytes].join(',')}]` : encodeBase58(bytes, base58);
};

export const walletMakers: Readonly<Record<string, Maker>> = {
  base58check: base58check(base58),
  ripple: base58check(rippleBase58),
  bech32: bech32Key,
  phrase,
  stellar: stellarSeed,
  keypair: keyPair,
};
