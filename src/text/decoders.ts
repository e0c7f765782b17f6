import { ansi } from './ansi.ts';
import { base32 } from './base32.ts';
import { base64 } from './base64.ts';
import type { BlockDecoder } from './block-decoder.ts';
import { charCodes } from './char-codes.ts';
import { declaredBase64 } from './declared-base64.ts';
import { files } from './files.ts';
import { grouped } from './grouped.ts';
import { hex } from './hex.ts';
import { htmlEntities } from './html-entities.ts';
import { jsonEscapes } from './json-escapes.ts';
import { lookAlikes } from './look-alikes.ts';
import { markup } from './markup.ts';
import { pemLines } from './pem-lines.ts';
import { percent } from './percent.ts';
import { quotedPrintable } from './quoted-printable.ts';
import { reversed } from './reversed.ts';
import { spaced } from './spaced.ts';
import { splitLines } from './split-lines.ts';
import type { EscapeDecoder } from './unescape.ts';
import { zeroWidth } from './zero-width.ts';

/** Encodings that a text can wear. A new one is a file and a line here; where two read the same bytes, the first that can does. */
export const escapeDecoders: readonly EscapeDecoder[] = [
  percent,
  jsonEscapes,
  htmlEntities,
  zeroWidth,
  lookAlikes,
  ansi,
];

export const blockDecoders: readonly BlockDecoder[] = [
  base64,
  hex,
  base32,
  charCodes,
  spaced,
  grouped,
  splitLines,
  pemLines,
  quotedPrintable,
  declaredBase64,
  reversed,
  files,
  markup,
];
