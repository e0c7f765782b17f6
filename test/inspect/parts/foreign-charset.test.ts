import t from 'tap';
import { fromForeignCharset } from '../../../src/inspect/parts/foreign-charset.ts';

const read = (bytes: Buffer, contentType: string): string | undefined =>
  fromForeignCharset(bytes, contentType)?.toString();
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
});
