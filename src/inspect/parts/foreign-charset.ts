import { isAscii } from 'node:buffer';

/* Texts in a character set of one language, which hide from whoever takes them for UTF-8. */

const declared = /;\s*charset\s*=\s*["']?([\w:.-]{1,40})/i;
/** `<meta charset=…>`, `<meta … content="text/html; charset=…">` and `<?xml encoding=…?>` (HTML, 13.2.3.2). */
const declaredWithin =
  /<(?:meta\s[^>]{0,256}?charset|\?xml\s[^>]{0,256}?encoding)\s*=\s*["']?([\w:.-]{1,40})/i;
/** Letters and digits as wide as those of East Asia, which such sets have twice. */
const wideLetters = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/g;
const toNarrow = (wide: string): string => wide.normalize('NFKC');
const startBytes = 2048;
/** Sets that are read as they stand, or with the signs that they have of their own. */
const known = /^(?:utf-?8|utf-?16|us-ascii|iso-8859-1|latin-?1|windows-1252)/i;
/** Sets that write other letters with bytes of ASCII. */
const sevenBit = /^(?:iso-2022|hz|csiso2022)/i;

/** Returns a text that declares another character set as UTF-8; undefined where there is nothing to change. */
export function fromForeignCharset(bytes: Buffer, contentType: string): Buffer | undefined {
  const [, name = declaredWithin.exec(bytes.toString('latin1', 0, startBytes))?.[1]] =
    declared.exec(contentType) ?? [];
  if (name === undefined || known.test(name) || (isAscii(bytes) && !sevenBit.test(name))) return undefined;
  try {
    return Buffer.from(new TextDecoder(name).decode(bytes).replace(wideLetters, toNarrow));
  } catch {
    // A set that no client has is judged by its name elsewhere.
    return undefined;
  }
}
