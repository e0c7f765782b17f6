import { isUtf8 } from 'node:buffer';

/* Texts in a character set of one language, which hide from whoever takes them for UTF-8. */

/**
 * Matches what declares a set, in types of content and of its parts, in pages, in XML and in encoded words (HTML,
 * 13.2.3.2; XML, 4.3.3; RFC 2047, 2).
 */
const declarations = /(?:\b(?:charset|encoding)\*?\s*=\s*["']?|=\?)([a-z][\w:.-]{1,39})/gi;
/** Sets that are read as they stand, or with the signs that they have of their own. */
const known =
  /^(?:utf-?8|utf-?16.*|us-ascii|iso-8859-1|latin-?1|windows-1252|base64|gzip|utf8|none|null|true|false)$/i;
/** Sets that write other letters with bytes of ASCII. */
const sevenBit = /^(?:iso-2022|hz|csiso2022)/i;
const charsetsMax = 3;
/** Declarations that are looked at. */
const declarationsMax = 1000;
/** Letters and digits as wide as those of East Asia, which such sets have twice. */
const wideLetters = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/g;
const toNarrow = (wide: string): string => wide.normalize('NFKC');

/** Converts texts of one content to UTF-8. */
export type FromCharset = (bytes: Buffer) => readonly Buffer[];

/** Returns the converter for the sets that content declares anywhere, at most three; undefined without any. */
export function foreignCharsetsIn(bytes: Buffer, contentType: string): FromCharset | undefined {
  const decoders = new Map<string, TextDecoder>();
  let count = 0;
  for (const [, name = ''] of `${contentType}\n${bytes.toString('latin1')}`.matchAll(declarations)) {
    count += 1;
    if (count > declarationsMax) break;
    const set = name.toLowerCase();
    if (known.test(set) || decoders.has(set)) continue;
    const decoder = decoderOf(set);
    if (decoder) decoders.set(set, decoder);
    if (decoders.size === charsetsMax) break;
  }
  if (decoders.size === 0) return undefined;
  return (text) => {
    const isPlain = isUtf8(text);
    return [...decoders].flatMap(([set, decoder]) =>
      isPlain && !sevenBit.test(set) ? [] : Buffer.from(decoder.decode(text).replace(wideLetters, toNarrow)),
    );
  };
}

/** Returns the decoder of a set of characters; undefined where the Encoding Standard has none of that name. */
export function decoderOf(name: string): TextDecoder | undefined {
  try {
    return new TextDecoder(name);
  } catch {
    // A set that no client has is judged by its name elsewhere.
    return undefined;
  }
}
