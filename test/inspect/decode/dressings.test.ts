import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import t from 'tap';
import { decodeViews, type View } from '../../../src/inspect/decode/views.ts';
import { redact } from '../../../src/inspect/redact/redact.ts';

/*
 * Dresses that cut a value in pieces, write its bytes as numbers or pack it without a sign. Of each: the value is found, the whole dress is
 * cut, and nothing is found in what remains.
 */

const bounds = { maxDecodedBytes: 1 << 20, depthMax: 3, isOver: () => false };
const secret = 'tk_4fJ9sQ2xLm7RbZ8vWc3Ne6Ht5Yp1Ka0D';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const hexOf = (text: string): string => Buffer.from(text).toString('hex');
const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64');
/** RFC 4648, 6, in small letters. */
const base32 = (bytes: Buffer | string): string =>
  Array.from(Buffer.from(bytes), (byte) => byte.toString(2).padStart(8, '0'))
    .join('')
    .replace(
      /.{1,5}/g,
      (bits) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(bits.padEnd(5, '0'), 2)] ?? '',
    );
const cut = (text: string, length: number): string[] =>
  text.match(new RegExp(`[\\s\\S]{1,${length}}`, 'g')) ?? [];
const codes = (text: string): number[] => [...Buffer.from(text)];
const uuid = (digits: string): string =>
  digits.padEnd(32, '0').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');

function grpcFrame(message: Buffer, isCompressed: boolean): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = isCompressed ? 1 : 0;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

const part = (content: Buffer): Buffer =>
  Buffer.concat([
    latin1('--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'),
    content,
    latin1('\r\n--b--\r\n'),
  ]);

/** The same bytes in every run, as good as random. */
function noise(length: number): Buffer {
  let state = 7;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    }),
  );
}

interface Dressing {
  readonly name: string;
  readonly source: string | Buffer;
  /** What is left of the source; by default all between its first and last quote is gone. */
  readonly left?: string;
}

const [head, tail] = [secret.slice(0, 15), secret.slice(15)];
const long = `${secret}_${secret.toUpperCase()}`;

const markups: readonly Dressing[] = [
  { name: 'a tag', source: `"${head}<b>${tail}"</b>`, left: '"#"</b>' },
  { name: 'a tag with attributes', source: `"${head}</span><span class="x y">${tail}"` },
  { name: 'a break at every sixth character', source: `"${cut(secret, 6).join('<wbr>')}"` },
  { name: 'a break written as an empty element', source: `"${cut(secret, 9).join('<br />')}"` },
  { name: 'a tag in capitals', source: `"${head}<I>${tail}"` },
  { name: 'a processing instruction', source: `<a>${head}<?x > y?>${tail}</a>`, left: '<a>#</a>' },
  { name: 'a comment', source: `<a>${head}<!-- > x -->${tail}</a>`, left: '<a>#</a>' },
  { name: 'seams of CDATA', source: `<![CDATA[${head}]]><![CDATA[${tail}]]>`, left: '<![CDATA[#]]>' },
  { name: 'the end of a CDATA section', source: `<![CDATA[${head}]]>${tail} `, left: '<![CDATA[# ' },
  { name: 'several seams in a row', source: `"${head}<i></i><!---->${tail}"` },
  { name: 'tags in JSON', source: `{"html":"${head}<\\/b><b>${tail}"}`, left: '{"html":"#"}' },
];

const numbers: readonly Dressing[] = [
  { name: 'hexadecimal in groups of eight', source: `"${cut(hexOf(secret), 8).join('-')}"` },
  {
    name: 'UUIDs in a list',
    source: JSON.stringify({ a: cut(hexOf(secret), 32).map(uuid) }),
    left: '{"a":["#"]}',
  },
  { name: 'hexadecimal in segments of a path', source: `"${cut(hexOf(secret), 24).join('/')}"` },
  { name: 'an odd number of digits before strokes', source: `"a${cut(hexOf(secret), 8).join('-')}"` },
  { name: 'codes with dots', source: `"${codes(secret).join('.')}"` },
  { name: 'codes with strokes', source: `"${codes(secret).join('-')}"` },
];

const groups: readonly Dressing[] = [
  ...[3, 4, 5, 6, 8, 10].map((length) => ({
    name: `groups of ${length}`,
    source: `"${cut(secret, length).join(' ')}"`,
  })),
  { name: 'groups with a stroke between spaces', source: `"${cut(secret, 6).join(' - ')}"` },
  { name: 'groups in a path', source: `https://h.example/"${cut(secret, 9).join('/')}"` },
  { name: 'base64 in groups of eight', source: `"${cut(base64(long), 8).join(' ')}"` },
  { name: 'base64 in groups of five', source: `"${cut(base64(long), 5).join('-')}"` },
  { name: 'base64 in segments', source: `"${cut(Buffer.from(long).toString('base64url'), 20).join('/')}"` },
];

const literals: readonly Dressing[] = [
  ...['+', '.', '..', '&', '||', '++'].map((sign) => ({
    name: `literals with ${sign} between them`,
    source: `k = "${head}" ${sign} "${tail}";`,
    left: 'k = "#";',
  })),
  { name: 'literals without spaces', source: `f('${head}'+'${tail}')`, left: "f('#')" },
  { name: 'literals in lines', source: `k = "${head}" +\r\n    "${tail}"\r\n`, left: 'k = "#"\r\n' },
  { name: 'literals of two kinds', source: `k = '${head}' + "${tail}"`, left: `k = '#"` },
  { name: 'many literals', source: `k = "${cut(secret, 3).join('" + "')}"`, left: 'k = "#"' },
  { name: 'literals side by side', source: `k = ("${head}"\n     "${tail}")`, left: 'k = ("#")' },
  {
    name: 'literals in a string',
    source: JSON.stringify({ a: `k='${head}' + '${tail}'` }),
    left: `{"a":"k='#'"}`,
  },
  { name: 'empty quotes of a shell', source: `curl ${cut(secret, 5).join("''")} -v`, left: 'curl # -v' },
  { name: 'empty double quotes', source: `curl ${head}""${tail} -v`, left: 'curl # -v' },
];

const quoted = (text: string): string => `=?utf-8?q?${text.replaceAll('_', '=5F')}?=`;
const pieces: readonly Dressing[] = [
  {
    name: 'encoded words',
    source: `Subject: =?UTF-8?B?${base64(head)}?=\r\n =?utf-8?b?${base64(tail)}?=\r\n`,
    left: 'Subject: #\r\n',
  },
  {
    name: 'encoded words in quoted-printable',
    source: `x\nSubject: ${cut(secret, 9).map(quoted).join(' ')}\nTo: a`,
    left: 'x\nSubject: #\nTo: a',
  },
  {
    name: 'a parameter in pieces',
    source: `a; filename*0="${head}";\r\n filename*1="${tail}"; b=c`,
    left: 'a; filename*0="#"; b=c',
  },
  {
    name: 'a parameter in escaped pieces',
    source: `a; name*0*=utf-8''${head};name*1*=${tail}; b=c`,
    left: "a; name*0*=utf-8''#; b=c",
  },
];

const ascii85 = Array.from({ length: 85 }, (_, value) => String.fromCharCode(33 + value)).join('');

/** Writes each four bytes as five characters, and fewer at the end as one more than there are. */
function base85(bytes: Buffer, alphabet: string): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const four = Buffer.alloc(4);
    const count = bytes.copy(four, 0, at, at + 4);
    let number = four.readUInt32BE();
    let five = '';
    for (let digit = 0; digit < 5; digit += 1) {
      five = `${alphabet[number % 85]}${five}`;
      number = Math.floor(number / 85);
    }
    text += five.slice(0, count + 1);
  }
  return text;
}

function uuencode(bytes: Buffer, zero: string): string {
  const character = (value: number): string => (value === 0 ? zero : String.fromCharCode(32 + value));
  const lines = Array.from({ length: Math.ceil(bytes.length / 45) }, (_, line) => {
    const some = bytes.subarray(45 * line, 45 * line + 45);
    const bits = Array.from(some, (byte) => byte.toString(2).padStart(8, '0')).join('');
    const padded = bits.padEnd(24 * Math.ceil(bits.length / 24), '0');
    return (
      character(some.length) +
      cut(padded, 6)
        .map((six) => character(Number.parseInt(six, 2)))
        .join('')
    );
  });
  return `${lines.join('\n')}\n${zero}\n`;
}

const plain = Buffer.from(`${secret} is the key`);
const binaries: readonly Dressing[] = [
  { name: 'Ascii85', source: `x <~${base85(plain, ascii85)}~> y`, left: 'x <~#~> y' },
  {
    name: 'Ascii85 in lines, with zeros',
    source: `<~z${cut(base85(plain, ascii85), 20).join('\n')}~>`,
    left: '<~#~>',
  },
  { name: 'packed Ascii85', source: `<~${base85(gzipSync(plain), ascii85)}~>`, left: '<~#~>' },
  ...['`', ' '].map((zero) => ({
    name: `uuencode with "${zero}" for zero`,
    source: `begin 644 a.txt\n${uuencode(Buffer.concat([plain, Buffer.alloc(60), plain]), zero)}end\n`,
    left: `begin 644 a.txt\n#\n${zero}\nend\n`,
  })),
];

const grpc = grpcFrame(gzipSync(long), true);
const files: readonly Dressing[] = [
  { name: 'Brotli', source: brotliCompressSync(long), left: '#' },
  { name: 'deflate without a frame', source: deflateRawSync(long), left: '#' },
  { name: 'Brotli as a part', source: part(brotliCompressSync(long)), left: String(part(latin1('#'))) },
  { name: 'a packed message of gRPC', source: grpc, left: `${grpc.toString('latin1', 0, 5)}#` },
];

const packers: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  zlib: deflateSync,
  deflate: deflateRawSync,
  'deflate in stored blocks': (text) => deflateRawSync(text, { level: 0 }),
  Brotli: brotliCompressSync,
  'Brotli in haste': (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } }),
  zstd: zstdCompressSync,
};
const withoutEnd = (bytes: Buffer): Buffer => bytes.subarray(0, -1);
const withWrongSum = (bytes: Buffer): Buffer => Buffer.concat([withoutEnd(bytes), latin1('?')]);
/** Short values are what agents send, long ones have codes of their own. */
const packedTexts: Readonly<Record<string, string>> = {
  short: `{"k":"${secret}"}`,
  long: `${secret} ${Array.from({ length: 300 }, (_, index) => `item ${(index * index).toString(36)}`).join(', ')}`,
};
const packed: readonly Dressing[] = Object.entries(packers).flatMap(([format, pack]) =>
  Object.entries(packedTexts).flatMap(([size, text]) => {
    const bytes = pack(text);
    const hasSign = /gzip|zlib|zstd/.test(format);
    const value = (name: string, encoded: string): Dressing => ({
      name: `${size} ${format} in ${name}`,
      source: `{"a":"${encoded}"}`,
      left: '{"a":"#"}',
    });
    return [
      value('base64', base64(bytes)),
      value('a segment of a path', `/files/up/${bytes.toString('base64url')}`),
      value('hex', bytes.toString('hex')),
      value('base32', base32(bytes)),
      // Of a block of zstd that has no end nobody gets anything.
      ...(size === 'long' && format !== 'zstd'
        ? [value('base64 without its end', base64(withoutEnd(bytes)))]
        : []),
      ...(hasSign ? [value('base64url behind a prefix', `id${bytes.toString('base64url')}`)] : []),
      ...(hasSign && format !== 'zstd'
        ? [value('base64 with a wrong sum', base64(withWrongSum(bytes)))]
        : []),
    ];
  }),
);

function viewsWith(source: Buffer): { view: View; at: number }[] {
  const { views, unreadable } = decodeViews(source, bounds);
  if (unreadable !== undefined) throw new Error(unreadable);
  return views.map((view) => ({ view, at: view.bytes.indexOf(secret) })).filter(({ at }) => at >= 0);
}

const kinds = { markups, numbers, groups, literals, pieces, binaries, files, packed };
for (const [kind, dressings] of Object.entries(kinds)) {
  t.test(`a value dressed by ${kind} is found and cut whole`, async (t) => {
    for (const { name, source, left } of dressings) {
      const bytes = Buffer.from(source);
      const found = viewsWith(bytes);
      if (!t.ok(found.length > 0, `${name} is found`)) continue;
      const spans = found.map(({ view, at }) => view.toSource(at, at + secret.length));
      const redacted = redact(
        bytes,
        spans.map((span) => ({ ...span, label: 'x' })),
      ).bytes;
      const want = left ?? String(source).replace(/"[\s\S]*"/, '"#"');
      t.equal(redacted.toString('latin1').replaceAll('[REDACTED:x]', '#'), want, name);
      t.equal(viewsWith(redacted).length, 0, `${name} is gone`);
    }
  });
}

const strangers: readonly Dressing[] = [
  { name: 'cells of a table', source: `<td>${head}</td><td>${tail}</td>` },
  { name: 'paragraphs', source: `<p>${head}</p><p>${tail}</p>` },
  { name: 'a tag that only begins like one of a phrase', source: `${head}<bold>${tail}` },
  { name: 'a comment that is not closed', source: `${head}<!-- ${tail}` },
  { name: 'a processing instruction that is not closed', source: `${head}<?x > ${tail}` },
  { name: 'a comment of more than 256 bytes', source: `${head}<!--${'x'.repeat(260)}-->${tail}` },
  { name: 'words around a tag', source: `${head} <b> ${tail}</b>` },
  { name: 'literals of words', source: `"${head}" "${tail} and more"` },
  { name: 'literals in a list', source: `["${head}", "${tail}"]` },
  { name: 'a text that ends with a sign', source: `"${head}. " + "${tail}"` },
  { name: 'literals with another sign', source: `"${head}" == "${tail}"` },
  {
    name: 'encoded words in one line with words',
    source: `=?u?b?${base64(head)}?= and =?u?b?${base64(tail)}?=`,
  },
  { name: 'pieces of a parameter that do not follow each other', source: `a*0="${head}"; a*2="${tail}"` },
  { name: 'a list longer than a cut value', source: `${'abc12 '.repeat(1100)}${cut(secret, 5).join(' ')}` },
];

t.test('what is no cut value is not put together', async (t) => {
  for (const { name, source } of strangers) {
    const { views } = decodeViews(Buffer.from(source), bounds);
    t.notOk(
      views.some((view) => view.bytes.includes(secret)),
      name,
    );
  }
});

t.test('arguments of a command line stay apart', async (t) => {
  const commands = [
    '"A_PASSWORD=clickhouse" "DB_HOST=127.0.0.1"',
    'curl -u "clickhouse" "https://h.example/a:b"',
  ];
  for (const command of commands)
    t.notOk(
      decodeViews(Buffer.from(command), bounds).views.some((view) =>
        /clickhouse[Dh]/.test(String(view.bytes)),
      ),
      command,
    );
  const { views } = decodeViews(Buffer.from('k = "Xk29vb" "Q7_=zz81"'), bounds);
  t.ok(
    views.some((view) => view.bytes.includes('Xk29vbQ7_=zz81')),
    'but a value with a sign in it is put together',
  );
});

t.test('lines that give values to names stay apart, and a cut value of that length does not', async (t) => {
  const joined = (source: string): boolean =>
    decodeViews(Buffer.from(source), bounds).views.some(({ bytes }) => bytes.includes('nextauthPG'));
  t.notOk(joined('PGUSER=nextauth\nPGPASSWORD=nextauth\nPGDATABASE=nextauth\nPGPORT=5432\n'));
  t.ok(joined('PGUSER=nextauth\nPGPASSWORD=nextauth\nPGa8Kd02mQz7Lw4xTb9\nQ1w2E3r4T5y6U7i8O9p\n'));
});

t.test('a value that is cut into lines of one length goes on behind the line with its name', async (t) => {
  const joined = (source: string): boolean =>
    decodeViews(Buffer.from(source), bounds).views.some(({ bytes }) =>
      bytes.includes('TOKEN=abCd1efGh2ijKl3'),
    );
  t.ok(joined('HOST=vpvrk\nTOKEN=abCd1\nefGh2ijKl3m\nnoPq4'));
  t.ok(joined('env: |\n  TOKEN=abCd1\n  efGh2ijKl3m\n  noPq4'));
});

const german = 'Größe, Fuß und Übermaß; '.repeat(8);
const unmarked: readonly (readonly [name: string, bytes: Buffer, isOpaque: boolean])[] = [
  ['bytes as good as random', noise(200), true],
  ['the same as a part', part(noise(200)), true],
  ['the same as a message of gRPC', grpcFrame(noise(200), false), true],
  ['the same, of which little is text', Buffer.concat([noise(400), latin1('some text'), noise(400)]), true],
  ['what is too short to tell', noise(31), false],
  ['UTF-8', Buffer.from(german), false],
  ['Latin-1', latin1(german), false],
  ['UTF-16', Buffer.from(german, 'utf16le'), false],
  ['UTF-32', Buffer.from(Array.from(german, (it) => `\0\0\0${it}`).join(''), 'latin1'), false],
  ['Cyrillic letters of one byte each', latin1('\xcf\xf0\xe8\xe2\xe5\xf2 '.repeat(20)), false],
  ['text with binary bytes between', Buffer.concat([noise(40), latin1('{"a":"text"}'.repeat(20))]), false],
  ['the same in base64, which many tokens are', Buffer.from(noise(200).toString('base64')), false],
];

t.test('a file that nothing tells the format of is opaque where it has nearly no text', async (t) => {
  for (const [name, bytes, isOpaque] of unmarked) {
    const { opaque } = decodeViews(bytes, bounds);
    t.same(
      opaque.map(({ kind }) => kind),
      isOpaque ? ['binary'] : [],
      name,
    );
  }
});

t.test('a packed file without a sign that unpacks to more than the limit is unreadable', async (t) => {
  const bomb = deflateRawSync(Buffer.alloc(1 << 16, 'a'));
  t.match(decodeViews(bomb, { ...bounds, maxDecodedBytes: 1 << 12 }).unreadable, /more than the limit/);
  t.equal(decodeViews(bomb, bounds).unreadable, undefined);
});

t.test('of values that begin alike and are not packed the first are tried and no more', async (t) => {
  const packed = brotliCompressSync(long);
  const broken = Buffer.concat([packed.subarray(0, 40), Buffer.alloc(60, 0xff)]);
  const behind = (count: number, value: Buffer): number =>
    viewsWith(Buffer.from(`${`${base64(broken)} `.repeat(count)}"${base64(value)}"`)).length;
  t.equal(behind(63, packed), 1);
  t.equal(behind(64, packed), 0);
  t.equal(behind(5000, deflateRawSync(long)), 1, 'what begins otherwise');
});

t.test('lists of numbers with zeros before them, and of pictures, are read', async (t) => {
  const numbers = Array.from({ length: 2000 }, (_, nth) => String(nth * 7919).padStart(24, '0'));
  const pictures = Array.from({ length: 6 }, () =>
    base64(Buffer.concat([latin1('\x89PNG\r\n\x1a\n'), noise(140_000)])),
  );
  for (const list of [numbers, pictures])
    t.equal(
      decodeViews(Buffer.from(JSON.stringify(list)), { ...bounds, maxDecodedBytes: 1 << 23 }).unreadable,
      undefined,
    );
});

t.test('texts that nearly wear such a dress are read in linear time', async (t) => {
  for (const source of [
    ...['a<!--', 'a<?', 'a<b ', 'a]]><![CDATA[', 'a<b>', 'abc12 ', '1.2-', 'a"+"', 'a" "', "a''", '"a"."'],
    ...['=?a?q?', '=?a?b?=20?= ', '=?', '*0=a', 'a*0=b;', '<~', '<~abcdefghijklmno', 'begin 644 a\n'],
    ...['begin 644 a\n#86)C\n`\nend\n'],
  ]) {
    const { unreadable } = decodeViews(Buffer.from(source.repeat(20_000)), {
      ...bounds,
      maxDecodedBytes: 1 << 24,
    });
    t.equal(unreadable, undefined, source);
  }
});
