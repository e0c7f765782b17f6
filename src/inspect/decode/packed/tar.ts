import type { Span } from '../span-map.ts';

/*
 * Finds the files in a tar archive (POSIX.1-2024, pax) that is not packed as a whole. Their texts can be read where they stand,
 * but what is packed in it, such as the layers of an image or the parts of a Ruby gem, has to be unpacked.
 */

const blockBytes = 512;
const magic = Buffer.from('ustar');
const magicAt = 257;
const sizeAt = 124;
const sizeBytes = 12;
/** The bit that tells a size in binary, which GNU tar writes for large files. */
const isBinarySize = 0x80;
const entriesMax = 1000;

const isHeader = (bytes: Buffer, at: number): boolean =>
  bytes.length >= at + blockBytes && bytes.subarray(at + magicAt, at + magicAt + magic.length).equals(magic);

/** Tells whether the bytes begin as a tar archive. */
export const isTar = (bytes: Buffer): boolean => isHeader(bytes, 0);

/** Returns the contents of the first entries of a tar archive; none where the bytes are no such archive. */
export function tarEntries(bytes: Buffer): readonly Span[] {
  const entries: Span[] = [];
  for (let at = 0; entries.length < entriesMax && isHeader(bytes, at); ) {
    const size = sizeOf(bytes, at + sizeAt);
    const start = at + blockBytes;
    if (size === undefined || start + size > bytes.length) break;
    if (size > 0) entries.push({ start, end: start + size });
    at = start + blockBytes * Math.ceil(size / blockBytes);
  }
  return entries;
}

function sizeOf(bytes: Buffer, start: number): number | undefined {
  if (((bytes[start] ?? 0) & isBinarySize) !== 0) return bytes.readUIntBE(start + sizeBytes - 6, 6);
  const digits = /^[ 0]*([0-7]*)[ \0]*$/.exec(bytes.toString('latin1', start, start + sizeBytes));
  return digits ? Number.parseInt(digits[1] || '0', 8) : undefined;
}
