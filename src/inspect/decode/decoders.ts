import { ansi } from './forms/ansi.ts';
import { base32 } from './forms/base32.ts';
import { base64 } from './forms/base64.ts';
import { base85 } from './forms/base85.ts';
import { charCodes } from './forms/char-codes.ts';
import { declaredBase64 } from './forms/declared-base64.ts';
import { encodedWords } from './forms/encoded-words.ts';
import { grouped } from './forms/grouped.ts';
import { hex } from './forms/hex.ts';
import { htmlEntities } from './forms/html-entities.ts';
import { inToken } from './forms/in-token.ts';
import { jsonEscapes } from './forms/json-escapes.ts';
import { literals } from './forms/literals.ts';
import { lookAlikes } from './forms/look-alikes.ts';
import { markup } from './forms/markup.ts';
import { parameterPieces } from './forms/parameter-pieces.ts';
import { pemLines } from './forms/pem-lines.ts';
import { percent } from './forms/percent.ts';
import { quotedPrintable } from './forms/quoted-printable.ts';
import { reversed } from './forms/reversed.ts';
import { spaced } from './forms/spaced.ts';
import { splitLines } from './forms/split-lines.ts';
import { uuencode } from './forms/uuencode.ts';
import { zeroWidth } from './forms/zero-width.ts';
import type { BlockDecoder } from './packed/block-decoder.ts';
import { files } from './packed/files.ts';
import { gitPack } from './packed/git-pack.ts';
import type { EscapeDecoder } from './unescape.ts';

/**
 * Decoders of encodings within a text. A new one needs a file and a line here. Where two read the same bytes,
 * the first wins.
 */
export const escapeDecoders: readonly EscapeDecoder[] = [
  percent,
  jsonEscapes,
  htmlEntities,
  zeroWidth,
  inToken,
  lookAlikes,
  ansi,
];

export const blockDecoders: readonly BlockDecoder[] = [
  base64,
  hex,
  base32,
  base85,
  charCodes,
  spaced,
  grouped,
  splitLines,
  literals,
  pemLines,
  quotedPrintable,
  encodedWords,
  parameterPieces,
  declaredBase64,
  uuencode,
  reversed,
  gitPack,
  files,
  markup,
];

const withoutSigns = blockDecoders.filter(({ signs }) => signs === undefined);
const allSigns = blockDecoders.reduce((all, { signs = 0 }) => all | signs, 0);

/** Returns the decoders that may find something in a text with these flags. */
export const blockDecodersFor = (flags: number): readonly BlockDecoder[] =>
  (flags & allSigns) === 0 ? withoutSigns : blockDecoders;
