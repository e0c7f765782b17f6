import { outlineOf, textFlags } from '../../kernel/outline.ts';
import type { Span } from '../span-map.ts';

/** A kind of content without readable text. `binary` is of unknown format. */
export type OpaqueKind =
  | 'archive'
  | 'audio'
  | 'binary'
  | 'document'
  | 'encrypted'
  | 'font'
  | 'image'
  | 'video';

/** Content that was skipped, with its place. */
export interface OpaqueContent extends Span {
  readonly kind: OpaqueKind;
}

interface Signature {
  readonly kind: OpaqueKind;
  /** The first bytes of a file, in latin-1. */
  readonly magic: string;
  /** The bytes from offset 8 on, in formats that share their beginning. */
  readonly eighth?: string;
}

/*
 * First bytes of each format, from its specification: PNG (ISO 15948, 5.2), JPEG (ITU-T T.81, B.1), RIFF, ISO
 * base media (ISO 14496-12), Matroska (RFC 8794), OpenType, WOFF (W3C). Further: ZIP (APPNOTE 4.3.7), zstd
 * (RFC 8878), xz, bzip2, lz4, PDF (ISO 32000, 7.5.2), OpenPGP (RFC 9580, 6.2). gzip and zlib are missing
 * because they are unpacked.
 */
const signatures: readonly Signature[] = [
  ...of(
    'image',
    '\x89PNG\r\n',
    '\xff\xd8\xff',
    'GIF87a',
    'GIF89a',
    'II*\0',
    'MM\0*',
    '\0\0\x01\0',
    '8BPS',
    '\0\0\0\x0cJXL ',
  ),
  ...of('audio', 'ID3', 'OggS', 'fLaC', 'MThd', '#!AMR', '\xff\xfb', '\xff\xf3', '\xff\xf1', '\xff\xf9'),
  ...of('video', '\x1aE\xdf\xa3', 'FLV\x01', '\0\0\x01\xba', '\0\0\x01\xb3'),
  { kind: 'image', magic: 'RIFF', eighth: 'WEBP' },
  { kind: 'audio', magic: 'RIFF', eighth: 'WAVE' },
  { kind: 'video', magic: 'RIFF', eighth: 'AVI ' },
  ...of('font', 'wOFF', 'wOF2', 'OTTO', 'ttcf\0', '\0\x01\0\0\0'),
  ...of(
    'archive',
    'PK\x03\x04',
    'PK\x05\x06',
    '7z\xbc\xaf\x27\x1c',
    'Rar!\x1a\x07',
    '\xfd7zXZ\0',
    '(\xb5/\xfd',
    '\x04"M\x18',
    'LZIP\x01',
  ),
  ...of('archive', 'MSCF\0\0\0\0', 'xar!\0', '\x1f\x9d', '\xff\x06\0\0sNaPpY'),
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((level) => of('archive', `BZh${level}1AY&SY`)),
  ...of('document', '%PDF-1.', '%PDF-2.', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'PAR1\x15'),
  ...of(
    'encrypted',
    'Salted__',
    'age-encryption.org/v1\n',
    '-----BEGIN PGP MESSAGE-----',
    '-----BEGIN AGE ENCRYPTED FILE-----',
  ),
];

function of(kind: OpaqueKind, ...magics: readonly string[]): Signature[] {
  return magics.map((magic) => ({ kind, magic }));
}

const byFirst = Array.from({ length: 256 }, (_, first) =>
  signatures.filter(({ magic }) => magic.charCodeAt(0) === first),
);

/** The type of ISO base media files, which stands behind a length of four bytes. */
const mediaType = 'ftyp';
const mediaTypeAt = 4;

/**
 * Tells whether a format begins with the first byte, or media may begin here. Elsewhere `opaqueKindOf` finds
 * nothing.
 */
export const beginsLikeOpaque = (bytes: Buffer): boolean =>
  (byFirst[bytes[0] ?? 0] as readonly Signature[]).length > 0 ||
  bytes[mediaTypeAt] === mediaType.charCodeAt(0);

/** Returns the kind of content by its first bytes; undefined for readable content. */
export function opaqueKindOf(bytes: Buffer): OpaqueKind | undefined {
  if (standsAt(bytes, mediaType, mediaTypeAt))
    return /^(?:heic|heix|mif1|avif)/.test(bytes.toString('latin1', 8, 12)) ? 'image' : 'video';
  return byFirst[bytes[0] ?? 0]?.find(
    ({ magic, eighth }) =>
      standsAt(bytes, magic, 0) &&
      (eighth === undefined || standsAt(bytes, eighth, 8)) &&
      (!mayBeginText.test(magic) || isBinary(bytes)),
  )?.kind;
}

/**
 * Matches first bytes that a text may have, too, such as `ID3`. Then the bytes behind them must be binary.
 */
const mayBeginText = /^[ -~]{1,6}$/;
/** The number of bytes of a file that tell it from text. */
const sampleBytes = 64;

const isBinary = (bytes: Buffer): boolean => bytes.subarray(0, sampleBytes).some((byte) => byte < 0x09);

const standsAt = (bytes: Buffer, magic: string, at: number): boolean =>
  bytes.length >= at + magic.length && bytes.toString('latin1', at, at + magic.length) === magic;

const armours = ['-----BEGIN PGP MESSAGE-----', '-----BEGIN AGE ENCRYPTED FILE-----'];
/** The last byte of `eyJ`, which begins JSON objects in base64url; it is the rarest of the three in texts. */
const thirdOfHeader = 0x4a;
/** Matches a compact JWE (RFC 7516, 7.1), up to the fourth of its five parts. */
const compactJwe = /eyJ[\w-]{16,2048}\.[\w-]{0,1024}\.[\w-]{8,64}\.[\w-]{1,64}/y;
/** Bound on the beginnings of tokens that are looked at. */
const tokensMax = 64;
const jweBytesMax = 4096;

/** Returns the first encrypted message inside a text; undefined where there is none. */
export function findEncrypted(bytes: Buffer, outline = outlineOf(bytes)): OpaqueContent | undefined {
  if ((outline.flags & textFlags.armour) !== 0)
    for (const armour of armours) {
      const start = bytes.indexOf(armour);
      if (start >= 0) return { kind: 'encrypted', start, end: start + armour.length };
    }
  if ((outline.flags & textFlags.encrypted) === 0) return undefined;
  let count = 0;
  for (let at = bytes.indexOf(thirdOfHeader); at >= 0; at = bytes.indexOf(thirdOfHeader, at + 1)) {
    if (bytes[at - 1] !== 0x79 || bytes[at - 2] !== 0x65) continue;
    if (++count > tokensMax) break;
    const start = at - 2;
    const text = bytes.toString('latin1', start, start + jweBytesMax);
    compactJwe.lastIndex = 0;
    const length = compactJwe.exec(text)?.[0].length ?? 0;
    if (length > 0 && names(text, 'enc')) return { kind: 'encrypted', start, end: start + length };
  }
  return undefined;
}

/** Tells whether the first part of a token is an object with this member. */
const names = (token: string, member: string): boolean =>
  Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').includes(`"${member}":`);
