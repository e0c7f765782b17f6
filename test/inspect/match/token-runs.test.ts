import t from 'tap';
import { outlineOf } from '../../../src/inspect/kernel/outline.ts';
import { findTokenStarts, tokenRunLengthMin } from '../../../src/inspect/match/token-runs.ts';

function startsOf(text: string): number[] {
  const bytes = Buffer.from(text, 'latin1');
  const starts: number[] = [];
  findTokenStarts(bytes, outlineOf(bytes), (start) => starts.push(start));
  return starts;
}

const run = 'Ab3'.repeat(7).slice(0, tokenRunLengthMin);

t.test('tells where long runs begin, and where they do behind an escape', async (t) => {
  const rows: readonly [text: string, starts: readonly number[]][] = [
    [run, [0]],
    [`x ${run}`, [2]],
    [`${run} ${run}${run}_${run}`, [0, 21, 62]],
    [`"\\n${run}"`, [2, 3, 7]],
    [`=%3D${run}`, [2, 4]],
    [`\\u003d${run}`, [1, 2, 6]],
    [run.slice(1), []],
    ['', []],
  ];
  for (const [text, starts] of rows) t.same(startsOf(text), starts, text);
});

t.test('tells each run wherever it stands', async (t) => {
  for (let gap = 0; gap < 200; gap += 1) {
    const text = `${' '.repeat(gap)}${run}.${run.slice(1)}.${'-'.repeat(gap % 70)}${run}${run}`;
    const wanted = [...text.matchAll(/[0-9A-Za-z]{20,}/g)].map(({ index }) => index);
    t.same(startsOf(text), wanted, String(gap));
  }
});
