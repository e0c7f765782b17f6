import { isUtf8 } from 'node:buffer';
import { opaqueKindOf } from './opaque.ts';

/**
 * First bytes, in latin-1, of ELF, Mach-O and Java, Windows, Wasm, SQLite, gettext, static libraries and time
 * zones.
 */
const magics: readonly string[] = [
  '\x7fELF',
  '\xfe\xed\xfa\xce',
  '\xfe\xed\xfa\xcf',
  '\xce\xfa\xed\xfe',
  '\xcf\xfa\xed\xfe',
  '\xca\xfe\xba\xbe',
  'MZ\x90\0',
  '\0asm',
  'SQLite format 3\0',
  '\xde\x12\x04\x95',
  '\x95\x04\x12\xde',
  '!<arch>\n',
  'TZif',
];
const pythonEnd = '\r\n\0\0';
const magicMax = 16;

/**
 * The least number of bytes of a file that is told by its zeros. A smaller one may be a message with a
 * password in it.
 */
const bytesMin = 512;
const sampleBytes = 65_536;
/** The least share of zero bytes in tables and numbers; texts in other encodings have none. */
const zeroShareMin = 1 / 16;

/** Tells whether bytes are a file that is no text: of a known format, or with the zeros of tables. */
export function isBinaryFile(bytes: Buffer): boolean {
  const head = bytes.toString('latin1', 0, magicMax);
  if (magics.some((magic) => head.startsWith(magic)) || head.startsWith(pythonEnd, 2)) return !isUtf8(bytes);
  const kind = opaqueKindOf(bytes);
  if (kind !== undefined) return kind !== 'document' && kind !== 'encrypted';
  if (bytes.length < bytesMin || hasUtf16Mark(bytes)) return false;
  return countZeros(bytes) >= Math.min(bytes.length, sampleBytes) * zeroShareMin && !isUtf8(bytes);
}

/** Tells whether bytes begin with the byte order mark of UTF-16. */
export const hasUtf16Mark = (bytes: Buffer): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);

function countZeros(bytes: Buffer): number {
  const end = Math.min(bytes.length, sampleBytes);
  let count = 0;
  for (let at = 0; at < end; at += 1) if (bytes[at] === 0) count += 1;
  return count;
}
