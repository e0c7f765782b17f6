import t from 'tap';
import { protobufTexts } from '../../../../src/inspect/decode/packed/protobuf.ts';

const bytesOf = (...parts: readonly (number | string)[]): Buffer =>
  Buffer.concat(parts.map((it) => (typeof it === 'number' ? Buffer.from([it]) : Buffer.from(it))));

const shown = (bytes: Buffer): string[] =>
  protobufTexts(bytes).map(({ path, start, end }) => `${path}=${bytes.toString('latin1', start, end)}`);

const cases: readonly [name: string, bytes: Buffer, want: readonly string[]][] = [
  ['a text', bytesOf(0x0a, 5, 'hello'), ['1=hello']],
  ['texts between numbers', bytesOf(0x08, 0x96, 1, 0x12, 2, 'hi', 0x1d, 'abcd', 0x21, '12345678'), ['2=hi']],
  ['a text in a message', bytesOf(0x1a, 4, 0x0a, 2, 'hi'), ['3=\n\u0002hi', '3.1=hi']],
  ['a repeated one', bytesOf(0x0a, 1, '~', 0x0a, 1, '!'), ['1=~', '1=!']],
  ['an empty one', bytesOf(0x0a, 0), []],
  ['a long one', bytesOf(0x0a, 0x80, 1, '~'.repeat(128)), [`1=${'~'.repeat(128)}`]],
  ['a number of two bytes', bytesOf(0x82, 1, 2, 'hi'), ['16=hi']],
  ['nothing', bytesOf(), []],
  ['a text that is none', bytesOf('hello, world'), []],
  ['one that is cut off', bytesOf(0x0a, 6, 'hello'), []],
  ['a field zero', bytesOf(0x02, 2, 'hi'), []],
  ['a group', bytesOf(0x0b, 'hi'), []],
  ['a length without end', bytesOf(0x0a, ...Array<number>(20).fill(0xff)), []],
];

for (const [name, bytes, want] of cases) {
  t.test(`finds in protobuf what may be text: ${name}`, async (t) => {
    t.same(shown(bytes), want);
  });
}

t.test('goes no deeper, and finds no more, than is bounded', async (t) => {
  let nested = bytesOf(0x0a, 2, 'hi');
  for (let depth = 0; depth < 30; depth++)
    nested = Buffer.concat([Buffer.from([0x0a, nested.length]), nested]);
  t.ok(protobufTexts(nested).length <= 5);
  t.ok(protobufTexts(Buffer.concat(Array<Buffer>(1_000).fill(bytesOf(0x0a, 1, '~')))).length <= 32);
});
