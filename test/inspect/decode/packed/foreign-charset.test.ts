import { randomBytes } from 'node:crypto';
import t from 'tap';
import { DecodeBudget } from '../../../../src/inspect/decode/budget.ts';
import { foreignCharsetsIn } from '../../../../src/inspect/decode/packed/foreign-charset.ts';
import { toReadable } from '../../../../src/inspect/decode/packed/readable.ts';

const read = (bytes: Buffer, contentType: string): string | undefined =>
  foreignCharsetsIn(bytes, contentType)?.(bytes)[0]?.toString();
const latin = (text: string): Buffer => Buffer.from(text, 'latin1');

t.test('a text is read in the character set that it declares', async (t) => {
  const russian = latin('\xd2\xe5\xea\xf1\xf2');
  t.equal(read(russian, 'text/plain; charset=windows-1251'), 'Текст');
  t.equal(read(russian, 'application/json;charset="Windows-1251"'), 'Текст');
  const page = Buffer.concat([latin('<html><meta charset="windows-1251"><p>'), russian]);
  t.match(read(page, 'text/html'), /<p>Текст$/, 'by its head');
  const old = '<meta http-equiv="content-type" content="text/html; charset=windows-1251">';
  t.match(read(Buffer.concat([latin(old), russian]), ''), /Текст$/);
  const xml = Buffer.concat([
    latin('<?xml version="1.0" encoding="koi8-r"?><a>'),
    latin('\xf4\xc5\xcb\xd3\xd4'),
  ]);
  t.match(read(xml, 'application/xml'), /Текст$/);
  t.equal(read(latin('\x1b$B$"\x1b(B'), 'text/plain; charset=iso-2022-jp'), 'あ', 'a set of seven bits');
  t.equal(read(latin('\xa3\xc9\xa3\xe7 \xa3\xb1'), 'text/plain; charset=gbk'), 'Ig 1', 'wide letters');
});

t.test('what needs no conversion is left as it is', async (t) => {
  t.equal(read(Buffer.from('Текст'), 'text/plain; charset=utf-8'), undefined);
  t.equal(read(Buffer.from('Текст'), 'text/plain'), undefined);
  t.equal(read(latin('caf\xe9'), 'text/plain; charset=iso-8859-1'), undefined);
  t.equal(read(latin('plain'), 'text/plain; charset=gbk'), undefined);
  t.equal(read(latin('\xd2'), 'text/plain; charset=x-nobody'), undefined);
  t.equal(read(Buffer.from('abc'), 'application/json; encoding=base64'), undefined);
});

t.test('parts and words of a mail are read in the sets that they declare', async (t) => {
  const mail = 'Content-Type: text/plain; charset=koi8-r\n\n0sXL09Q=\n\nSubject: =?windows-1251?B?0uXq8fI=?=';
  const convert = foreignCharsetsIn(Buffer.from(mail), 'message/rfc822');
  t.same(convert?.(latin('\xf4\xc5\xcb\xd3\xd4')).map(String)[0], 'Текст');
  t.same(convert?.(latin('\xd2\xe5\xea\xf1\xf2')).map(String)[1], 'Текст');
});

t.test('of very many declared sets three are taken', async (t) => {
  const sets = ['koi8-r', 'gbk', 'big5', 'windows-1251'].map((it) => `charset=${it};`).join('');
  t.equal(foreignCharsetsIn(Buffer.from(sets), '')?.(latin('\xd2')).length, 3);
  const far = `${'charset=utf-8;'.repeat(2000)}charset=gbk`;
  t.equal(foreignCharsetsIn(Buffer.from(far), ''), undefined, 'and a thousand are looked at');
});

t.test('what was decoded is text in the sets that the content declares, unless it is random', async (t) => {
  const bounds = { maxDecodedBytes: 1_000_000, depthMax: 3, isOver: () => false };
  const budget = new DecodeBudget(bounds, Buffer.from('Content-Type: text/plain; charset=koi8-r'));
  const russian = latin('\xf4\xc5\xcb\xd3\xd4 '.repeat(3));
  t.equal(String(toReadable(russian, budget).bytes), 'Текст Текст Текст \n');
  t.notMatch(String(toReadable(russian, new DecodeBudget(bounds, Buffer.from('{}'))).bytes), /Текст/);
  t.ok(toReadable(randomBytes(8192), budget).bytes.length < 1000, 'so encrypted content still shows as such');
});
