import { gzipSync } from 'node:zlib';
import t from 'tap';
import { isBinary, textIn } from '../../../../src/inspect/decode/packed/binary.ts';

const noise = Buffer.from(
  Array.from({ length: 400 }, (_, at) => [0xff, 0x01, 0x41, 0x90, 0x07][at % 5] ?? 0),
);

t.test('what is text stays as it is', async (t) => {
  const texts = ['', 'plain', 'größe', '{"a":"\b"}', '\0text with a zero', 'caf\xe9 latin'].map((text, at) =>
    Buffer.from(text, at === 5 ? 'latin1' : 'utf8'),
  );
  for (const bytes of [...texts, gzipSync('packed')])
    t.equal(textIn(bytes), bytes, JSON.stringify(bytes.toString('latin1')));
});

t.test('of binary bytes the pieces of text remain', async (t) => {
  const bytes = Buffer.concat([noise, Buffer.from('first piece'), noise, Buffer.from('second'), noise]);
  t.ok(isBinary(bytes));
  t.equal(String(textIn(bytes)), 'first piece\nsecond\n');
});

t.test('UTF-16 with a mark becomes UTF-8, in either order', async (t) => {
  const text = 'Привет, Welt';
  const marked = Buffer.from(`\ufeff${text}`, 'utf16le');
  t.equal(String(textIn(marked)), text);
  t.equal(String(textIn(Buffer.from(marked).swap16())), text);
});

t.test('a text with a few control characters is not binary', async (t) => {
  t.notOk(isBinary(Buffer.from(`${'text '.repeat(20)}\x01\x02`)));
  t.notOk(isBinary(Buffer.from('\t\r\n\x1b[0m')));
  t.notOk(isBinary(Buffer.alloc(0)));
  t.ok(isBinary(Buffer.from('\x01\x02text')));
});
