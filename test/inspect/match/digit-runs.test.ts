import t from 'tap';
import { outlineOf } from '../../../src/inspect/kernel/outline.ts';
import { findDigitRuns } from '../../../src/inspect/match/digit-runs.ts';

function runsOf(bytes: Uint8Array): string[] {
  const runs: string[] = [];
  findDigitRuns(bytes, outlineOf(bytes), (start, end, count) => runs.push(`${start}-${end}:${count}`));
  return runs;
}

const cases = [
  { name: 'a card in groups', text: 'card 4111 1111 1111 1111!', want: ['5-24:16'] },
  { name: 'a number with dashes', text: '078-05-1120', want: ['0-11:9'] },
  {
    name: 'two numbers with a word between them',
    text: '12345678 and 987654321',
    want: ['0-8:8', '13-22:9'],
  },
  { name: 'groups of three', text: 'phone +48 589 073 985', want: ['7-21:11'] },
  { name: 'digits at the very end', text: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa12345678', want: ['33-41:8'] },
  { name: 'no run over two separators', text: '12345678--12345678', want: ['0-8:8', '10-18:8'] },
];

for (const { name, text, want } of cases) {
  t.test(`reports ${name} at every alignment`, (t) => {
    for (let offset = 0; offset < 8; offset++) {
      const bytes = Buffer.concat([
        Buffer.alloc(offset, '9'),
        Buffer.from(text),
        Buffer.from('999'),
      ]).subarray(offset, -3);
      t.same(runsOf(bytes), want);
    }
    t.end();
  });
}

t.test('does not report the digits of hexadecimal text', (t) => {
  t.same(runsOf(Buffer.from('9f86d081c7d65a1b22c333d0e4b12'.repeat(9))), []);
  t.end();
});

t.test('reports every long run wherever it stands', (t) => {
  for (let before = 0; before < 70; before++) {
    const text = Buffer.from(`${'x'.repeat(before)}12345678${'y'.repeat(70 - before)}55 66 77 88`);
    t.same(runsOf(text).slice(0, 1), [`${before}-${before + 8}:8`]);
    t.equal(runsOf(text).length, 2);
  }
  t.end();
});
