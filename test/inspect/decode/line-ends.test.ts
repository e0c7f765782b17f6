import t from 'tap';
import { LineEnds } from '../../../src/inspect/decode/line-ends.ts';

t.test('a line ends with LF, CR or both, and with both once', async (t) => {
  const cases: readonly (readonly [text: string, kinds: string])[] = [
    ['a\nb', 'text end text'],
    ['a\rb', 'text end text'],
    ['a\r\nb', 'text end half text'],
    ['\r\r\n\n', 'end end half end'],
    ['\n\r', 'end end'],
    ['\r\n\n', 'end half end'],
  ];
  for (const [text, kinds] of cases) {
    const ends = new LineEnds();
    const told = [...Buffer.from(text)].map((byte) => ends.take(byte));
    t.equal(told.join(' '), kinds, JSON.stringify(text));
  }
});
