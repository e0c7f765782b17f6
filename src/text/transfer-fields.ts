/*
 * `Content-Transfer-Encoding` of a mail or of a part (RFC 2045, 6). Where a text says how it is written, less of it tells an encoding.
 */

const quotedPrintable = /^content-transfer-encoding\s*:[^:]{0,64}?quoted-printable/im;

/** Behind the first field that says quoted-printable; beyond the end where there is none. */
export function quotedPrintableFrom(bytes: Buffer): number {
  const found = quotedPrintable.exec(bytes.toString('latin1'));
  return found ? found.index + found[0].length : Number.POSITIVE_INFINITY;
}
