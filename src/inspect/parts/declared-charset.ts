import { multipartParts } from '../decode/multipart-parts.ts';
import { decoderOf } from '../decode/packed/foreign-charset.ts';

/*
 * Reads the declared character set of content. Nothing can be found in content whose set does not write ASCII
 * as ASCII.
 */

/** Matches the parameter of RFC 2045, 5.1, and RFC 2231, 4: `charset="x"`, `charset*=us-ascii'en'x`. */
const charset = /;\s*charset(?:\*0?\*?)?\s*=\s*["']?(?:[\w-]{0,64}'[\w-]{0,64}')?([^\s"';,()<>]{1,64})/gi;
const typeField = /^content-type[ \t]*:([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/gim;
const hasParts = /^\s*(?:multipart|message)\//i;

/**
 * Matches families of sets that contain ASCII unchanged, without signs between the parts of the name.
 * `TextDecoder` does not know all of them.
 */
const families =
  /^(?:utf8|cesu8|latin|iso8859|koi8|x?mac|win|gb|big5|euc|x?sjis|shiftjis|armscii|tis620|viscii|johab)\w*$/;
const codePages = /^(?:cp|ibm|ms|dos)?(?:125\d|437|720|737|775|85\d|86\d|874|932|936|949|950)$/;
const noSet = /^(?:usascii|ascii\d?|[78]bit|binary|none|null|undefined|default|auto|x?unknown(?:8bit)?)$/;

/** Matches the declaration that XML begins with (XML, 2.8), perhaps behind a mark of UTF-8. */
const xmlDeclaration = /^(?:\xef\xbb\xbf)?<\?xml\s[^>]{0,256}?\bencoding\s*=\s*["']([^"'>]{1,64})["']/;
/** The sign of XML in EBCDIC (XML, appendix F): `<?xm`. Parsers recognise it without being told. */
const ebcdicXml = Buffer.from([0x4c, 0x6f, 0xa7, 0x94]);
const declarationBytesMax = 512;

/**
 * Tells whether content, or a part of it, declares a character set that is not read. UTF-16 is read wherever
 * it stands.
 */
export function hasUnreadCharset(bytes: Buffer, contentType: string): boolean {
  if (namesUnread(contentType) || isUnreadXml(bytes, 0)) return true;
  if (!hasParts.test(contentType)) return false;
  for (const { content } of multipartParts(bytes)) if (isUnreadXml(bytes, content.start)) return true;
  for (const [, type = ''] of bytes.toString('latin1').matchAll(typeField))
    if (namesUnread(type)) return true;
  return false;
}

/**
 * Tells whether XML names an encoding of its own that is not read. Parsers follow it where the content type
 * names none.
 */
function isUnreadXml(bytes: Buffer, start: number): boolean {
  if (bytes.subarray(start, start + ebcdicXml.length).equals(ebcdicXml)) return true;
  const [, name] = xmlDeclaration.exec(bytes.toString('latin1', start, start + declarationBytesMax)) ?? [];
  return name !== undefined && !isRead(name);
}

function namesUnread(type: string): boolean {
  if (!type.includes(';')) return false;
  for (const [, name = ''] of type.matchAll(charset)) if (!isRead(name)) return true;
  return false;
}

function isRead(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z\d]/g, '');
  const isKnown = families.test(plain) || codePages.test(plain) || noSet.test(plain);
  return isKnown || decoderOf(name) !== undefined;
}
