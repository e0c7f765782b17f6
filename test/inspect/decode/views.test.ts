import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { tookTooLong } from '../../../src/inspect/decode/budget.ts';
import { decodeViews, type View } from '../../../src/inspect/decode/views.ts';
import { redact } from '../../../src/inspect/redact/redact.ts';
import { dress, type Encoder, encoders, randomSource, secretFrom } from './dress.ts';

const bounds = { maxDecodedBytes: 1 << 20, depthMax: 3, isOver: () => false };

/** The spans of the source that stand for `text` in any view. */
function findIn(views: readonly View[], text: string): { start: number; end: number; view: View }[] {
  return views.flatMap((view) => {
    const at = view.bytes.indexOf(text);
    return at < 0 ? [] : [{ ...view.toSource(at, at + Buffer.byteLength(text)), view }];
  });
}

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

/** RFC 4648, 7. */
const base32hex = (text: string): string =>
  Array.from(Buffer.from(text), (byte) => byte.toString(2).padStart(8, '0'))
    .join('')
    .replace(/.{1,5}/g, (bits) => Number.parseInt(bits.padEnd(5, '0'), 2).toString(32));

/** With all optional fields of the header (RFC 1952, 2.3), and bytes behind the end, so that only a lenient reader takes it. */
const oddGzip = Buffer.concat([
  Buffer.from([0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 3, 2, 0, 9, 9]),
  Buffer.from('name\0comment\0cc'),
  deflateRawSync('my secret is out'),
  Buffer.from('no checksum, but more text'),
]);

interface Case {
  readonly name: string;
  readonly source: string | Buffer;
  readonly finds: string;
  /** What is cut of the source. */
  readonly cut: string | Buffer;
  readonly encodings: readonly string[];
  readonly isForm?: boolean;
}

const cases: readonly Case[] = [
  {
    name: 'percent, whole',
    source: 'q=%73%65cret!',
    finds: 'secret',
    cut: '%73%65cret',
    encodings: ['percent'],
  },
  {
    name: 'percent, at the edges only',
    source: 'a%73ecre%74b',
    finds: 'secret',
    cut: '%73ecre%74',
    encodings: ['percent'],
  },
  {
    name: 'percent, twice',
    source: 'x%2573ecret',
    finds: 'secret',
    cut: '%2573ecret',
    encodings: ['percent', 'percent'],
  },
  {
    name: 'percent, five times',
    source: 'x%2525252573%2525252565cret',
    finds: 'xsecret',
    cut: 'x%2525252573%2525252565cret',
    encodings: ['percent'],
  },
  {
    name: 'percent, three times, of a percent sign',
    source: 'secret%2525-off',
    finds: 'secret%25-off',
    cut: 'secret%2525-off',
    encodings: ['percent'],
  },
  {
    name: 'percent, more often than anybody needs',
    source: `se%${'25'.repeat(40)}63ret`,
    finds: 'secret',
    cut: `se%${'25'.repeat(40)}63ret`,
    encodings: ['percent'],
  },
  {
    name: 'percent of old scripts',
    source: '%u0073ecret',
    finds: 'secret',
    cut: '%u0073ecret',
    encodings: ['percent'],
  },
  {
    name: 'percent of UTF-8',
    source: 'M%C3%BCller',
    finds: 'Müller',
    cut: 'M%C3%BCller',
    encodings: ['percent'],
  },
  {
    name: 'a form with a plus',
    source: 'a=top+secret',
    finds: 'top secret',
    cut: 'top+secret',
    encodings: ['form'],
    isForm: true,
  },
  {
    name: 'JSON unicode escapes',
    source: '"\\u0073ecret"',
    finds: 'secret',
    cut: '\\u0073ecret',
    encodings: ['json'],
  },
  {
    name: 'a surrogate pair',
    source: '"a\\ud83d\\ude00b"',
    finds: 'a😀b',
    cut: 'a\\ud83d\\ude00b',
    encodings: ['json'],
  },
  {
    name: 'an escape that splits',
    source: '"se\\/cret\\n"',
    finds: 'se/cret',
    cut: 'se\\/cret',
    encodings: ['json'],
  },
  {
    name: 'JSON in JSON',
    source: '{"b":"{\\"k\\":\\"s\\\\u0065cret\\"}"}',
    finds: 'secret',
    cut: 's\\\\u0065cret',
    encodings: ['json', 'json'],
  },
  {
    name: 'hex escapes',
    source: '\\x73\\x65cret',
    finds: 'secret',
    cut: '\\x73\\x65cret',
    encodings: ['json'],
  },
  { name: 'octal escapes', source: '\\163ecret', finds: 'secret', cut: '\\163ecret', encodings: ['json'] },
  {
    name: 'braced escapes',
    source: '\\u{73}ecret\\u{1F600}',
    finds: 'secret😀',
    cut: '\\u{73}ecret\\u{1F600}',
    encodings: ['json'],
  },
  {
    name: 'long escapes',
    source: '\\U00000073ecret',
    finds: 'secret',
    cut: '\\U00000073ecret',
    encodings: ['json'],
  },
  {
    name: 'entities by number',
    source: '&#115;&#x65;cret&#0000116;',
    finds: 'secrett',
    cut: '&#115;&#x65;cret&#0000116;',
    encodings: ['html'],
  },
  {
    name: 'entities without semicolon',
    source: '&#115ecret',
    finds: 'secret',
    cut: '&#115ecret',
    encodings: ['html'],
  },
  {
    name: 'entities by name',
    source: 'user&commat;host&period;org',
    finds: 'user@host.org',
    cut: 'user&commat;host&period;org',
    encodings: ['html'],
  },
  ...[
    ...[
      '&shy',
      '&ic;',
      '&InvisibleTimes;',
      '&hairsp;',
      '&VeryThinSpace;',
      '&ApplyFunction;',
      '&NegativeThinSpace;',
    ],
    ...['&zwj;', '&NoBreak;', '&lrm;', '&DownBreve;'],
  ].map((entity) => ({
    name: `nothing that is seen, as ${entity}`,
    source: `"se${entity}cret"`,
    finds: '"secret"',
    cut: `"se${entity}cret"`,
    encodings: ['html'],
  })),
  {
    name: 'nothing that is seen, in a form',
    source: 'a=se&shycret&b=1',
    finds: 'a=secret&b=1',
    cut: 'a=se&shycret&b=1',
    encodings: ['html'],
  },
  {
    name: 'entities of letters, of two characters and of spaces',
    source: 'M&uuml;ller M&uumlller&fjlig;&nGt;&emsp13;&lowast;&dash;&amp&lt&AMP x',
    finds: 'Müller Müllerfj≫ ∗-&<& x',
    cut: 'M&uuml;ller M&uumlller&fjlig;&nGt;&emsp13;&lowast;&dash;&amp&lt&AMP x',
    encodings: ['html'],
  },
  {
    name: 'zero-width characters',
    source: 'se\u200bcr\u2060e\ufefft',
    finds: 'secret',
    cut: 'se\u200bcr\u2060e\ufefft',
    encodings: ['zero-width'],
  },
  {
    name: 'soft hyphens, marks and selectors',
    source: 's\u00ade\u0336c\ufe0fret',
    finds: 'secret',
    cut: 's\u00ade\u0336c\ufe0fret',
    encodings: ['zero-width'],
  },
  {
    name: 'what is not to be shown, of every block',
    source: 's\u17b4e\ufff0c\u{1bca0}r\u{1d173}e\u{e0fff}t',
    finds: 'secret',
    cut: 's\u17b4e\ufff0c\u{1bca0}r\u{1d173}e\u{e0fff}t',
    encodings: ['zero-width'],
  },
  {
    name: 'a reference with more zeros than anybody needs',
    source: `&#115;e&#x${'0'.repeat(300)}63;ret`,
    finds: 'secret',
    cut: `&#115;e&#x${'0'.repeat(300)}63;ret`,
    encodings: ['html'],
  },
  {
    name: 'direction marks',
    source: 'se\u202ac\u2066r\u200eet\u202c',
    finds: 'secret',
    cut: 'se\u202ac\u2066r\u200eet',
    encodings: ['zero-width'],
  },
  {
    name: 'an override inside a word',
    source: 'sec\u202eret',
    finds: 'secret',
    cut: 'sec\u202eret',
    encodings: ['zero-width'],
  },
  {
    name: 'an override behind a hyphen',
    source: 'my-\u202esecret',
    finds: 'my-secret',
    cut: 'my-\u202esecret',
    encodings: ['zero-width'],
  },
  {
    name: 'marks of annotations',
    source: 's\ufff9ec\ufffar\ufffbet',
    finds: 'secret',
    cut: 's\ufff9ec\ufffar\ufffbet',
    encodings: ['zero-width'],
  },
  {
    name: 'control characters in a token',
    source: 'm\u0001y\b-\vse\u001bc\u007fr\u0085e\u009bt',
    finds: 'my-secret',
    cut: 'm\u0001y\b-\vse\u001bc\u007fr\u0085e\u009bt',
    encodings: ['in-token'],
  },
  ...['\u00a0', '\u1680', '\u2003', '\u2009', '\u2028', '\u202f', '\u205f', '\u3000'].flatMap((gap) => [
    {
      name: `U+${gap.charCodeAt(0).toString(16)} behind the prefix of a token`,
      source: `key my_${gap}1s3cr3t9x9 end`,
      finds: 'my_1s3cr3t9x9',
      cut: `my_${gap}1s3cr3t9x9`,
      encodings: ['in-token'],
    },
    {
      name: `U+${gap.charCodeAt(0).toString(16)} near the end of a token`,
      source: `my1s3cr3t9${gap}x9y end`,
      finds: 'my1s3cr3t9x9y',
      cut: `my1s3cr3t9${gap}x9y`,
      encodings: ['in-token'],
    },
  ]),
  {
    name: 'small capitals',
    source: '\u1d0d\u028f s\u1d07\u1d04\u0280\u1d07\u1d1b',
    finds: 'my secret',
    cut: '\u1d0d\u028f s\u1d07\u1d04\u0280\u1d07\u1d1b',
    encodings: ['look-alike'],
  },
  {
    name: 'homoglyphs of Armenian',
    source: 'my s\u0585u\u0578d',
    finds: 'my sound',
    cut: 'my s\u0585u\u0578d',
    encodings: ['look-alike'],
  },
  {
    name: 'tag characters',
    source: `x ${tags('secret')}`,
    finds: 'secret',
    cut: tags('secret'),
    encodings: ['zero-width'],
  },
  {
    name: 'UTF-16',
    source: utf16('my secret'),
    finds: 'secret',
    cut: utf16('secret').subarray(0, 11),
    encodings: ['zero-width'],
  },
  {
    name: 'full-width characters',
    source: 'ｓecreｔ',
    finds: 'secret',
    cut: 'ｓecreｔ',
    encodings: ['look-alike'],
  },
  {
    name: 'mathematical letters',
    source: '𝐬𝖾𝚌ret',
    finds: 'secret',
    cut: '𝐬𝖾𝚌ret',
    encodings: ['look-alike'],
  },
  {
    name: 'homoglyphs in a word',
    source: 'sесret',
    finds: 'secret',
    cut: 'sесret',
    encodings: ['look-alike'],
  },
  {
    name: 'odd spaces and dashes between digits',
    source: '078\u201305\u00a01120',
    finds: '078-05 1120',
    cut: '078\u201305\u00a01120',
    encodings: ['look-alike'],
  },
  {
    name: 'digits of other scripts',
    source: 'SSN \u0660\u0667\u0668-\u0966\u096b-\u0e51\u0ed1\u06f2\u09e6',
    finds: '078-05-1120',
    cut: '\u0660\u0667\u0668-\u0966\u096b-\u0e51\u0ed1\u06f2\u09e6',
    encodings: ['look-alike'],
  },
  {
    name: 'digits in keycaps',
    source: 's3\ufe0f\u20e3cret',
    finds: 's3cret',
    cut: 's3\ufe0f\u20e3cret',
    encodings: ['zero-width'],
  },
  {
    name: 'hyphens that do not break the line',
    source: 'my\u2011secret\u2010is',
    finds: 'my-secret-is',
    cut: 'my\u2011secret\u2010is',
    encodings: ['look-alike'],
  },
  {
    name: 'bytes in variation selectors',
    source: `\u{1f600}${[...Buffer.from('my secret')].map((byte) => String.fromCodePoint(0xe_0100 + byte - 16)).join('')}!`,
    finds: 'my secret',
    cut: [...Buffer.from('my secret')].map((byte) => String.fromCodePoint(0xe_0100 + byte - 16)).join(''),
    encodings: ['zero-width'],
  },
  {
    name: 'variation selectors that choose a form',
    source: 's\ufe0fe\ufe0fcr\ufe0eet',
    finds: 'secret',
    cut: 's\ufe0fe\ufe0fcr\ufe0eet',
    encodings: ['zero-width'],
  },
  {
    name: 'text behind an override',
    source: 'x "\u202eterces"',
    finds: 'secret',
    cut: 'terces',
    encodings: ['bidi'],
  },
  {
    name: 'base64',
    source: `x ${base64('my secret is out')} y`,
    finds: 'secret',
    cut: base64('my secret is out'),
    encodings: ['base64'],
  },
  {
    name: 'base64 without padding',
    source: base64('my secret is out').replace(/=+$/, ''),
    finds: 'secret is out',
    cut: base64('my secret is out').replace(/=+$/, ''),
    encodings: ['base64'],
  },
  {
    name: 'base64url',
    source: Buffer.from('?>?>?> secret ~~~').toString('base64url'),
    finds: 'secret',
    cut: Buffer.from('?>?>?> secret ~~~').toString('base64url'),
    encodings: ['base64'],
  },
  {
    name: 'base64 in a path',
    source: `x.io/f/${base64('a secret is out!!')}`,
    finds: 'secret',
    cut: `io/f/${base64('a secret is out!!')}`,
    encodings: ['base64'],
  },
  {
    name: 'base64 in lines',
    source: `"${base64('my secret is out '.repeat(9)).replace(/.{76}/g, '$&\r\n')}"`,
    finds: 'out my secret is out my secret is out my secret is out',
    cut: base64('my secret is out '.repeat(9)).replace(/.{76}/g, '$&\r\n'),
    encodings: ['base64'],
  },
  {
    name: 'base64 in lines in JSON',
    source: `{"k":"${base64('my secret is out '.repeat(9)).replace(/.{64}/g, '$&\\n')}"}`,
    finds: 'secret is out my secret is out my secret is out my',
    cut: base64('my secret is out '.repeat(9)).replace(/.{64}/g, '$&\\n'),
    encodings: ['json', 'base64'],
  },
  {
    name: 'base64 of binary with text in it',
    source: base64(
      Buffer.concat([Buffer.alloc(60, 0x90), Buffer.from('the secret'), Buffer.alloc(60, 0xee)]),
    ),
    finds: 'the secret',
    cut: base64(Buffer.concat([Buffer.alloc(60, 0x90), Buffer.from('the secret'), Buffer.alloc(60, 0xee)])),
    encodings: ['base64'],
  },
  {
    name: 'base64 of UTF-16',
    source: base64(utf16('a secret ünder')),
    finds: 'a secret ünder',
    cut: base64(utf16('a secret ünder')),
    encodings: ['base64'],
  },
  {
    name: 'base64 of gzip',
    source: base64(gzipSync('my secret is out')),
    finds: 'secret',
    cut: base64(gzipSync('my secret is out')),
    encodings: ['base64', 'gzip'],
  },
  {
    name: 'base64 of zlib',
    source: base64(deflateSync('my secret is out')),
    finds: 'secret',
    cut: base64(deflateSync('my secret is out')),
    encodings: ['base64', 'deflate'],
  },
  {
    name: 'base64 of gzip of gzip',
    source: base64(gzipSync(gzipSync('my secret is out'))),
    finds: 'secret',
    cut: base64(gzipSync(gzipSync('my secret is out'))),
    encodings: ['base64', 'gzip'],
  },
  {
    name: 'gzip cut short',
    source: base64(gzipSync('my secret is out').subarray(0, -8)),
    finds: 'secret',
    cut: base64(gzipSync('my secret is out').subarray(0, -8)),
    encodings: ['base64', 'gzip'],
  },
  {
    name: 'gzip with more behind it',
    source: base64(Buffer.concat([gzipSync('my secret is out'), Buffer.from('and more')])),
    finds: 'secret',
    cut: base64(Buffer.concat([gzipSync('my secret is out'), Buffer.from('and more')])),
    encodings: ['base64', 'gzip'],
  },
  {
    name: 'gzip with an odd header',
    source: base64(oddGzip),
    finds: 'my secret is out',
    cut: base64(oddGzip),
    encodings: ['base64', 'gzip'],
  },
  {
    name: 'base64 of UTF-16 with a mark',
    source: base64(Buffer.concat([Buffer.from([0xfe, 0xff]), utf16('a secret ünder').swap16()])),
    finds: 'a secret ünder',
    cut: base64(Buffer.concat([Buffer.from([0xfe, 0xff]), utf16('a secret ünder').swap16()])),
    encodings: ['base64'],
  },
  {
    name: 'gzip that nobody declared',
    source: gzipSync('my secret is out'),
    finds: 'secret',
    cut: gzipSync('my secret is out'),
    encodings: ['file', 'gzip'],
  },
  {
    name: 'hex',
    source: `0x${Buffer.from('my secret').toString('hex')}0a0d!`,
    finds: 'secret',
    cut: `${Buffer.from('my secret').toString('hex')}0a0d`,
    encodings: ['hex'],
  },
  {
    name: 'hex in capitals with an odd digit',
    source: `f${Buffer.from('my secret!').toString('hex').toUpperCase()}`,
    finds: 'secret',
    cut: `f${Buffer.from('my secret!').toString('hex').toUpperCase()}`,
    encodings: ['hex'],
  },
  {
    name: 'hex with spaces',
    source: 'x 6d 79 20 73 65 63 72 65 74 20 69 73 20 6f 75 74.',
    finds: 'secret',
    cut: '6d 79 20 73 65 63 72 65 74 20 69 73 20 6f 75 74',
    encodings: ['char-codes', 'grouped'],
  },
  {
    name: 'hex as a byte array',
    source: '{0x6d, 0x79, 0x20, 0x73, 0x65, 0x63, 0x72, 0x65, 0x74, 0x20, 0x69, 0x73}',
    finds: 'secret',
    cut: '0x6d, 0x79, 0x20, 0x73, 0x65, 0x63, 0x72, 0x65, 0x74, 0x20, 0x69, 0x73',
    encodings: ['char-codes'],
  },
  {
    name: 'character codes',
    source: '{"b":[109,121,32,115,101,99,114,101,116,32,105,115]}',
    finds: 'secret',
    cut: '109,121,32,115,101,99,114,101,116,32,105,115',
    encodings: ['char-codes'],
  },
  {
    name: 'base32',
    source: 'https://nv4sa43fmnzgk5banfzsa33voq.dns.example',
    finds: 'secret',
    cut: 'nv4sa43fmnzgk5banfzsa33voq.dns.example',
    encodings: ['base32'],
  },
  {
    name: 'spaced letters',
    source: 'Note (m y   s e c r e t   i s   o u t) see',
    finds: 'my secret is out',
    cut: 'm y   s e c r e t   i s   o u t',
    encodings: ['spaced'],
  },
  {
    name: 'letters with signs between them',
    source: 'note=m-y-s-e-c-r-e-t-i-s-o-u-t-n-o-w, see',
    finds: 'mysecretisoutnow',
    cut: 'm-y-s-e-c-r-e-t-i-s-o-u-t-n-o-w',
    encodings: ['grouped'],
  },
  {
    name: 'a list of letters',
    source: JSON.stringify({ list: Array.from('mysecretisoutnow') }),
    finds: 'mysecretisoutnow',
    cut: Array.from('mysecretisoutnow').join('","'),
    encodings: ['grouped'],
  },
  {
    name: 'hex with dashes',
    source: 'x 6d-79-20-73-65-63-72-65-74-20-69-73-20-6f-75-74.',
    finds: 'my secret is out',
    cut: '6d-79-20-73-65-63-72-65-74-20-69-73-20-6f-75-74',
    encodings: ['grouped', 'hex'],
  },
  {
    name: 'hex in the labels of a host',
    source: 'https://6d7920736563726574206973.206f7574206e6f77.dns.example/',
    finds: 'my secret is out now',
    cut: '6d7920736563726574206973.206f7574206e6f77.d',
    encodings: ['hex'],
  },
  {
    name: 'base32hex in a label',
    source: `https://${base32hex('my secret is out now')}.x.example/`,
    finds: 'my secret is out now',
    cut: `${base32hex('my secret is out now')}.`,
    encodings: ['base32'],
  },
  {
    name: 'a token in two lines',
    source: '"mysecretis\noutnow"',
    finds: 'mysecretisoutnow',
    cut: 'mysecretis\noutnow',
    encodings: ['split-lines'],
  },
  {
    name: 'a number in lines of one length',
    source: '"num. 4716 \n6295 0323 \n4976"',
    finds: '4716 6295 0323 4976',
    cut: '4716 \n6295 0323 \n4976',
    encodings: ['split-lines'],
  },
  {
    name: 'a word of homoglyphs before one that mixes them',
    source: 'ВЕGIN ЕС РRIVАТЕ',
    finds: 'BEGIN EC PRIVATE',
    cut: 'ВЕGIN ЕС РRIVАТЕ',
    encodings: ['look-alike'],
  },
  {
    name: 'a token cut into lines',
    source: '"mysecr\netisou\ntandgo\nnow"',
    finds: 'mysecretisoutandgonow',
    cut: 'mysecr\netisou\ntandgo\nnow',
    encodings: ['split-lines'],
  },
  {
    name: 'a token in indented lines of one length',
    source: '"mysecr\n  etisou\n\ttandgo\r\n  now"',
    finds: 'mysecretisoutandgonow',
    cut: 'mysecr\n  etisou\n\ttandgo\r\n  now',
    encodings: ['split-lines'],
  },
  {
    name: 'a token in a string of two lines, the second indented',
    source: '{"k": "mysecretis\n    outnow"}',
    finds: 'mysecretisoutnow',
    cut: 'mysecretis\n    outnow',
    encodings: ['split-lines'],
  },
  {
    name: 'a token broken in a sentence',
    source: 'the key is my_Secret1\nisOut2now ok',
    finds: 'key is my_Secret1isOut2now',
    cut: 'key is my_Secret1\nisOut2now',
    encodings: ['split-lines'],
  },
  {
    name: 'a token broken and indented twice',
    source: 'key: >-\n  my1Secret2Is3 \r\n  Out4And5Gone6\r\n  For7Ever\r\nname: x',
    finds: 'my1Secret2Is3Out4And5Gone6For7Ever',
    cut: 'my1Secret2Is3 \r\n  Out4And5Gone6\r\n  For7Ever',
    encodings: ['split-lines'],
  },
  {
    name: 'a token of capitals, broken',
    source: 'id MYSECRETI\n  SOUTNOW',
    finds: 'MYSECRETISOUTNOW',
    cut: 'MYSECRETI\n  SOUTNOW',
    encodings: ['split-lines'],
  },
  {
    name: 'a token of two lines of one length, between a sign and a name',
    source: 'key: >-\n  mysecretis\n  outandgone\nz: 2',
    finds: 'mysecretisoutandgone\n\x1e',
    cut: 'mysecretis\n  outandgone',
    encodings: ['split-lines'],
  },
  {
    name: 'a padded token, broken behind a word of another script',
    source: `${'ü'.repeat(40)} my1Secret2Is3\n Out4=\n`,
    finds: 'my1Secret2Is3Out4',
    cut: 'my1Secret2Is3\n Out4',
    encodings: ['split-lines'],
  },
  {
    name: 'Markdown escapes',
    source: 'use my\\_secret\\-is\\.out now',
    finds: 'my_secret-is.out',
    cut: 'my\\_secret\\-is\\.out',
    encodings: ['json'],
  },
  {
    name: 'Markdown escapes in JSON',
    source: JSON.stringify({ text: 'use my\\_secret' }),
    finds: 'my_secret',
    cut: 'my\\\\_secret',
    encodings: ['json', 'json'],
  },
  {
    name: 'a line that is continued',
    source: 'curl x \\\r\n   -H my\\\n\t  secret',
    finds: '-H mysecret',
    cut: '-H my\\\n\t  secret',
    encodings: ['json'],
  },
  {
    name: 'colours of a terminal',
    source: '\x1b[32mse\x1b[1;38:5:9mcr\x1b[0met\x1b[m',
    finds: 'secret',
    cut: 'se\x1b[1;38:5:9mcr\x1b[0met',
    encodings: ['ansi'],
  },
  {
    name: 'colours of a terminal in JSON',
    source: '"\\u001b[32mse\\u001b[0mcret"',
    finds: 'secret',
    cut: 'se\\u001b[0mcret',
    encodings: ['json', 'ansi'],
  },
  {
    name: 'switches of character sets',
    source: '\x1b(Bse\x1b(Jcr\x1b$(D\x1b(Bet',
    finds: 'secret',
    cut: 'se\x1b(Jcr\x1b$(D\x1b(Bet',
    encodings: ['ansi'],
  },
  {
    name: 'colours as a shell writes them',
    source: "printf '\\e[32mse\\033[0mcret'",
    finds: 'secret',
    cut: 'se\\033[0mcret',
    encodings: ['json', 'ansi'],
  },
  {
    name: 'spaced letters between words',
    source: 'payment m y s e c r e t i s o u t thanks',
    finds: 'mysecretisout',
    cut: 'm y s e c r e t i s o u t',
    encodings: ['spaced'],
  },
  {
    name: 'spaced letters behind a name',
    source: 'key: m y s e c r e t i s o u t.',
    finds: 'mysecretisout',
    cut: 'm y s e c r e t i s o u t',
    encodings: ['spaced'],
  },
  {
    name: 'three encodings',
    source: encodeURIComponent(JSON.stringify(base64('my secret is out\n'))),
    finds: 'secret',
    cut: encodeURIComponent(base64('my secret is out\n')),
    encodings: ['percent', 'base64'],
  },
];

function tags(text: string): string {
  return Array.from(text, (character) => String.fromCodePoint(0xe_0000 + character.charCodeAt(0))).join('');
}

t.test('what is encoded is read, and cut with its encoding', async (t) => {
  for (const { name, source, finds, cut, encodings, isForm = false } of cases) {
    const bytes = Buffer.from(source);
    const { views, unreadable } = decodeViews(bytes, { ...bounds, isForm });
    const found = findIn(views, finds).find(({ view }) => view.encodings.join() === encodings.join());
    t.equal(unreadable, undefined, `${name}: readable`);
    t.ok(found, `${name}: found, in ${views.map((view) => view.encodings.join('.')).join(' ')}`);
    t.same(
      found && bytes.subarray(found.start, found.end).toString('latin1'),
      Buffer.from(cut).toString('latin1'),
      name,
    );
  }
});

const plain = [
  {
    name: 'prose',
    source: 'The importer does not clean up, 100% of the time; see R&D & "C:" notes. '.repeat(40),
  },
  { name: 'an unfinished percent escape', source: '100% %4 %zz %u12 %ud800' },
  {
    name: 'an unfinished JSON escape',
    source: '\\u12 \\ud800 \\ud800\\udx \\xg1 \\u{110000} \\u{} \\9 \\400 \\UFFFFFFFF \\',
  },
  { name: 'a broken entity', source: '&; &#; &#x; &nosuch; &apos &#xd800; &#0; &#1114112; &a; &' },
  {
    name: 'fields that are named like entities',
    source: 'a=1&copy=2&region_id=3&section[a]=4&times.x=5&not-before=6&lt=7',
  },
  {
    name: 'identifiers',
    source: '3f2c9a52-7d0b-4c11-9a6e-0c4f1ad0b3a7 a94a8fe5ccb19ba61c4c0873d391e987982fbbd3',
  },
  {
    name: 'embeddings and other numbers',
    source: JSON.stringify(Array.from({ length: 60 }, (_, index) => index * 97)),
  },
  { name: 'words of one script', source: 'Привет, это обычный текст. Καλημέρα κόσμε. 日本語 مرحبا' },
  { name: 'indented lines', source: `a\n${' '.repeat(200)}b\n\n\n\nline\nthree\nc` },
  { name: 'nothing', source: '' },
  {
    name: 'wrapped prose',
    source:
      'See the follow-up documentation\nJavaScript readers ask for, version-2024 of\nthe importer_v2\nhandles it.',
  },
  {
    name: 'names of members',
    source: 'abcdefgh12: aBcdefgh34\naBcdefgh56: x\naBcdefgh78 = y9Zabcdef\n  call1Me(x)',
  },
  { name: 'an environment', source: 'A1=abCdefgh12\nB2key=ijKlmnop34\nC3key=ab12cd34ef' },
  { name: 'rows of codes', source: '17ab,tokenAAA111\n18cd,tokenBBB222\n19ef|tokenCCC333' },
  { name: 'numbers in lines', source: '4539578763\n621486\n4539 5787\n' },
  { name: 'a list of tokens', source: 'tk_aB1cD2eF3gH4iJ\n  tk_kL5mN6oP7\n\ttk_qR8sT9uV0wX1yZ' },
  { name: 'a list of tokens of one length', source: 'tk_aB1cD2\ntk_kL5mN6\ntk_qR8sT9\ntk_wX1yZ2\n' },
  { name: 'tokens in a line', source: 'tk_aB1cD2eF3gH4iJ tk_kL5mN6oP7qR tk_qR8sT9uV0wX1yZ' },
  {
    name: 'tokens that are too long to be one',
    source: `${'aB1'.repeat(200)}\n${'aB1'.repeat(6)} ${'aB1'.repeat(2)}\n`,
  },
  { name: 'a delimiter and a header', source: '--Bound4ryXyz\r\nContent-Type: text/plain' },
  {
    name: 'codes with a space between them',
    source: 'a94a8fe5ccb19ba6 87982fbbd3cc see up_date-2024-now then',
  },
  {
    name: 'what only begins like a colour',
    source: `\x1b( \x1bB \x1b((((B \x1b[ \x1b[31 \x1b[${'1'.repeat(40)}m`,
  },
];

t.test('what is not encoded has one view', async (t) => {
  for (const { name, source } of plain) {
    const { views, unreadable } = decodeViews(Buffer.from(source), bounds);
    t.same(
      views.map((view) => view.encodings),
      [[]],
      name,
    );
    t.equal(unreadable, undefined, name);
  }
});

t.test('one character over and over again stands for nothing', async (t) => {
  for (const character of '-_=+/xA03')
    for (const length of [19, 20, 64, 513, 5000]) {
      const rule = character.repeat(length);
      for (const text of [rule, `| ${rule} |`, `{"a":"${rule}"}`])
        t.equal(decodeViews(Buffer.from(text), bounds).views.length, 1, `${character} ${length}`);
    }
});

t.test('the first view is the source itself', async (t) => {
  const source = Buffer.from('a%41');
  const { views } = decodeViews(source, bounds);
  t.equal(views[0]?.bytes, source);
  t.same(views[0]?.toSource(1, 3), { start: 1, end: 3 });
});

t.test('broken escapes beside good ones stay as they are', async (t) => {
  const { views } = decodeViews(Buffer.from('%zz\\u00zz&nosuch;\xc3%41'), bounds);
  t.equal(views[1]?.bytes.toString(), '%zz\\u00zz&nosuch;\xc3A');
});

/** Those that other tests have no use for. */
const moreEncoders: readonly Encoder[] = [
  ...encoders,
  { name: 'Markdown', encode: (text) => text.replace(/[!-/:-@[-`{-~]/g, '\\$&') },
];

t.test('no trace is left of a secret in any dress, and nothing else is cut', async (t) => {
  const random = randomSource(20_260_102);
  for (let round = 0; round < 300; round += 1) {
    const secret = secretFrom(random);
    const layers = Array.from(
      { length: 1 + random(3) },
      () => moreEncoders[random(moreEncoders.length)] ?? moreEncoders[0],
    );
    const names = layers
      .map((layer) => layer?.name)
      .reverse()
      .join(' of ');
    const [before, after] = ['Please note, my friend: ', ' -- and thanks. Yours!'];
    const source = Buffer.from(before + dress(secret, layers) + after);
    const { views } = decodeViews(source, bounds);
    const cuts = findIn(views, secret).map(({ start, end }) => ({ start, end, label: 'token' }));
    const redacted = redact(source, cuts).bytes;
    t.equal(redacted.toString(), `${before}[REDACTED:token]${after}`, `round ${round}: ${names}`);
    t.same(findIn(decodeViews(redacted, bounds).views, secret), [], `round ${round}: ${names}, read again`);
  }
});

t.test('compressed bytes are unpacked where somebody calls them JSON', async (t) => {
  for (let number = 0; number < 300; number += 1) {
    const digits = Array.from({ length: 20 }, (_, at) => Math.sin(20 * number + at));
    const packed = gzipSync(`${digits} my secret is out`);
    const { views } = decodeViews(packed, { ...bounds, isJson: true });
    t.equal(findIn(views, 'my secret is out').length, 1, `${number}`);
  }
});

t.test('depth is bounded', async (t) => {
  let source = 'my secret is out';
  for (let depth = 0; depth < 4; depth += 1) source = base64(source);
  t.same(findIn(decodeViews(Buffer.from(source), bounds).views, 'secret'), []);
  t.equal(findIn(decodeViews(Buffer.from(source), { ...bounds, depthMax: 4 }).views, 'secret').length, 1);
  const { views } = decodeViews(Buffer.from(`%25252541${source}`.repeat(50)), bounds);
  t.ok(views.length <= 15, 'a view has two children at most');
});

const bombs = [
  { name: 'a gzip bomb', source: base64(gzipSync(Buffer.alloc(4 << 20))) },
  { name: 'a gzip bomb in gzip', source: base64(gzipSync(gzipSync(Buffer.alloc(4 << 20)))) },
  {
    name: 'many gzip bombs under the limit',
    source: `${base64(gzipSync(Buffer.alloc(300_000)))} `.repeat(5),
  },
  { name: 'text that decodes to too much', source: 'x%41'.repeat(600_000) },
];

t.test('more decoded bytes than the limit are unreadable', async (t) => {
  for (const { name, source } of bombs) {
    const { views, unreadable } = decodeViews(Buffer.from(source), bounds);
    t.match(unreadable, /more than the limit of 1048576 bytes/, name);
    t.equal(views[0]?.bytes.length, source.length, name);
  }
});

t.test('what is over its time is unreadable', async (t) => {
  const sources = [
    '%41',
    'a&'.repeat(5000),
    `${base64(gzipSync('x'))} `.repeat(50),
    base64('some text that is long enough'),
  ];
  for (const source of sources) {
    const { unreadable } = decodeViews(Buffer.from(source), { ...bounds, isOver: () => true });
    t.equal(unreadable, tookTooLong);
  }
});

const hidden = 'my secret is out, and nobody read it';
const wrapped = (line: number, lineEnd: string): string =>
  base64(`${hidden}, ${hidden}`).replace(new RegExp(`.{${line}}(?=.)`, 'g'), `$&${lineEnd}`);
const quotedPrintable = (text: string): string =>
  Array.from(Buffer.from(text), (byte) => `=${byte.toString(16).toUpperCase()}`).join('');

const disguised = [
  ...['a', 'ab', 'abc', 'abcd'].map((before) => ({
    name: `base64 behind ${before.length} letters`,
    source: before + base64(hidden),
  })),
  { name: 'base64 behind a long path', source: `${'p'.repeat(66)}/${base64(hidden)}` },
  { name: 'base64 behind a long path of another phase', source: `${'p'.repeat(67)}/${base64(hidden)}` },
  { name: 'long base64 behind a letter', source: `x${base64(hidden.repeat(30))}` },
  { name: 'base64 in short lines', source: `cert:\n${wrapped(16, '\n')}\n` },
  { name: 'base64 in short lines that end in CRLF', source: `cert:\r\n${wrapped(16, '\r\n')}\r\n` },
  { name: 'base64 in a line before others', source: `see\n${base64('my secret is out, and')}\nI hope so\n` },
  {
    name: 'base64 in a line before others that end in CRLF',
    source: `${base64('and my secret is out')}\r\nI hope so`,
  },
  { name: 'base64 in short lines of a JSON string', source: JSON.stringify(`x\r\n${wrapped(16, '\r\n')}`) },
  { name: 'base64 in indented lines', source: `k: !!binary |\n  ${wrapped(16, '\n  ')}\nz: 1` },
  { name: 'base64 in lines with tabs', source: JSON.stringify(`x\r\n\t${wrapped(76, '\r\n\t')}`) },
  { name: 'quoted-printable', source: quotedPrintable(hidden) },
  {
    name: 'quoted-printable in lines',
    source: quotedPrintable(hidden).replace(/.{75}(?=.)/g, '$&=\r\n'),
  },
  { name: 'quoted-printable in part', source: 'my=20se=63ret is out' },
  { name: 'soft line ends alone', source: 'my sec=\nret=\n is out' },
  ...['=\r\n', '=\n', '= \t\r\n', '=\r\n=\r\n'].map((sign) => ({
    name: `one ${JSON.stringify(sign)} behind a field that says so`,
    source: `To: a\r\nContent-Transfer-ENCODING:\r\n Quoted-Printable\r\n\r\nmy se${sign}cret is out\r\n`,
  })),
  ...['!', '-', ' ', '_', '.\r\n', '=', '\xe9'].map((other) => ({
    name: `base64 with ${JSON.stringify(other)} between its letters`,
    source: `--b\r\ncontent-transfer-encoding : BASE64\r\nA: b\r\n\r\n${base64(hidden).replace(other === '=' ? /.{4}/g : /.{5}/g, `$&${other}`)}\r\n--b--`,
  })),
  {
    name: 'base64 with other characters in a mail',
    source: `To: a\nContent-Transfer-Encoding: base64\n\n${base64(hidden).replace(/.{5}/g, '$&!')}\n`,
  },
  {
    name: 'one letter behind a field that says so',
    source: 'Content-Transfer-Encoding: quoted-printable\n\nmy s=65cret is out',
  },
  { name: 'quoted-printable in JSON', source: JSON.stringify({ text: 'see: my=20sec=\r\nret is out' }) },
];

t.test('what a sender wraps or puts in front does not hide a value', async (t) => {
  for (const { name, source } of disguised) {
    t.ok(findIn(decodeViews(Buffer.from(source), bounds).views, 'my secret is out').length > 0, name);
  }
});

t.test('odd spaces and control characters between words, cells and numbers cost no view', async (t) => {
  const texts = [
    'Herr\u00a0Dupont, Article\u00a0L221-18',
    'the\u2009second\u2009table of\u202fall',
    'chapter\u2028Introduction\u2029Words',
    '\u0001Begin \u0002end\u0003.',
    'SUM(A1)\u00a0x 12',
    '東京\u3000大阪\u3000AB12cd34',
    'sound of a word: /\u026a/',
  ];
  for (const [index, text] of texts.entries())
    t.equal(decodeViews(Buffer.from(text), bounds).views.length, 1, `text ${index + 1}`);
});

t.test('an equals sign that is no escape costs no view', async (t) => {
  const sources = [
    'a=12&b=34&c=de',
    'x = 20; y=30',
    '<a id="ab" n="12">',
    'TOKEN=abc\nPORT=4976\n',
    'k=ab==cd',
    'x =\ny = 20\n',
    'x = \ny = 20\n',
    'Encoding: quoted-printable\nx =\ny = 20\n',
    'x =\ny = 20\nContent-Transfer-Encoding: quoted-printable',
  ];
  for (const source of sources) t.equal(decodeViews(Buffer.from(source), bounds).views.length, 1, source);
});

t.test('of a part in base64 with other characters the content is cut, and nothing else', async (t) => {
  const head = '--b\r\nContent-Transfer-Encoding: base64\r\n\r\n';
  const content = base64(hidden).replace(/.{5}/g, '$&!');
  const end = '\r\n--b\r\n\r\n--kept\r\n--b--';
  const source = Buffer.from(`${head}${content}${end}`);
  const [found] = findIn(decodeViews(source, bounds).views, 'secret');
  t.equal(source.toString('utf8', found?.start, found?.end), content);
});

t.test('of a mail in quoted-printable a line is cut, and nothing else', async (t) => {
  const head = 'Content-Transfer-Encoding: quoted-printable\r\n\r\nkept =\r\nas it is\r\n';
  const source = Buffer.from(`${head}my se=\r\ncret is out\r\nkept`);
  const [found] = findIn(decodeViews(source, bounds).views, 'secret');
  t.equal(source.toString('utf8', found?.start, found?.end).trim(), 'my se=\r\ncret is out');
});

t.test('quoted-printable is cut with its line or string, and nothing else', async (t) => {
  const source = Buffer.from('{"a":"kept","b":"my=20se=63ret is out"}');
  const [found] = findIn(decodeViews(source, bounds).views, 'secret');
  t.equal(source.toString('utf8', found?.start, found?.end), 'my=20se=63ret is out');
});

/** All that once ran through a whole text without a look at the clock. */
const tedious = [
  'a b ',
  'abc\n',
  'abc\r\n',
  'QUFB',
  '73 ',
  '4141',
  '65,',
  '=41',
  '=\n',
  '=',
  'MFRGGZDF',
  '--b\nContent-Transfer-Encoding: base64\n\n!',
  'Content-Transfer-Encoding: quoted-printable\n\na=20b\n',
  'a',
  '\u202eab"',
  '\u202ea',
  'ab12cD34\n  ',
  'a1B-ab12cD34 ',
  '\\\n',
  '\x1b[m',
  'a"+"',
  '=?a?q?b?= ',
  'a*0=b;',
  '<~abcdefghijklmnopqrst~>',
  'begin 644 a\n#86)C\n`\nend\n',
];

t.test('looks at the clock all along, and once time is over no more', async (t) => {
  for (const text of tedious) {
    const source = Buffer.from(text.repeat(Math.ceil((1 << 20) / text.length)));
    let asked = 0;
    decodeViews(source, { ...bounds, maxDecodedBytes: 16 << 20, isOver: () => ++asked < 0 });
    t.ok(asked >= 8, `${JSON.stringify(text)} asks ${asked} times`);
    const last = Math.floor(asked / 2);
    let again = 0;
    const { unreadable } = decodeViews(source, {
      ...bounds,
      maxDecodedBytes: 16 << 20,
      isOver: () => ++again >= last,
    });
    t.equal(unreadable, tookTooLong, JSON.stringify(text));
    t.equal(again, last, JSON.stringify(text));
  }
});

t.test('hostile texts of 256 KB come to an end with bounded views', async (t) => {
  const texts = [
    '%25252541',
    '&',
    '&#x000000000041',
    '\\',
    '\\u0041',
    '\\ud83d',
    '\u202e',
    '\u202eab',
    'a\u200b',
    'а',
    'aа',
    '65,66,',
    'a b c  ',
    'ab12cD34\n',
    'aB1-cD34eF56gH78 ',
    '\\_',
    '\\\n ',
    '\x1b[',
    '\x1b[m',
  ];
  texts.push(
    ' ',
    '\n',
    'abcd\n',
    '41',
    'A',
    '\0',
    'ab/cd-ef_ghi/jkl+mnopqrst ',
    'H4sIAAAAAAAAA0tMTEoGAMJBJDUDAAAA ',
    'abcdefghijklmnopqrstuvwxyz234567.',
  );
  for (const text of texts) {
    const source = Buffer.from(text.repeat(Math.ceil(262_144 / text.length)));
    const { views } = decodeViews(source, { ...bounds, maxDecodedBytes: 8 << 20 });
    t.ok(views.length <= 15, JSON.stringify(text));
    for (const view of views) {
      const { start, end } = view.toSource(0, view.bytes.length);
      t.ok(start >= 0 && start <= end && end <= source.length, JSON.stringify(text));
    }
  }
});

/** Texts in which the sign that ends one thing stands behind many that begin one, or nowhere. */
const distant = [
  '<~abcdefghijklmnopq ',
  'begin 644 a\n`\nend\n',
  '?= =?',
  '\u202eab"',
  '\u202eab\u202c',
  '\u202e',
  '(abc)values(',
  "(abc)values(\\'",
  '<td><',
  '{"value":[[',
  '--a\n',
  'a\n',
];

t.test('does not go through the same bytes again for each of many signs', async (t) => {
  const { indexOf, lastIndexOf } = Buffer.prototype;
  let gone = 0;
  const counted = (search: typeof indexOf, direction: 1 | -1): typeof indexOf =>
    function (this: Buffer, value: string | number | Uint8Array, ...rest: never[]): number {
      const found = search.call(this, value as string, ...rest);
      const from = typeof rest[0] === 'number' ? rest[0] : direction === 1 ? 0 : this.length;
      gone += Math.abs((found >= 0 ? found : direction === 1 ? this.length : 0) - from);
      return found;
    };
  t.teardown(() => Object.assign(Buffer.prototype, { indexOf, lastIndexOf }));
  Object.assign(Buffer.prototype, { indexOf: counted(indexOf, 1), lastIndexOf: counted(lastIndexOf, -1) });
  for (const text of distant) {
    const source = Buffer.from(text.repeat(Math.ceil(65_536 / Buffer.byteLength(text))));
    gone = 0;
    decodeViews(source, { ...bounds, maxDecodedBytes: 8 << 20 });
    t.ok(
      gone < 128 * source.length,
      `${JSON.stringify(text)}: ${Math.round(gone / source.length)} times its length`,
    );
  }
});
