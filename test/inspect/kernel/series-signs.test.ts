import t from 'tap';
import { seriesSigns } from '../../../src/inspect/kernel/series-signs.ts';

const signs = ['0":', '1":', '2":', '0\\":', '1\\":', '2\\":', 'first_', 'second_'];

/** The same by one look for each. */
const plainly = (text: string): number =>
  signs.reduce((seen, sign, bit) => seen | (text.includes(sign) ? 1 << bit : 0), 0);

t.test('the kernel sees the names that single looks see', async (t) => {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const almost = ['3":', '1"', '1\\"', '1 ":', 'firs_', 'fir_t_', 'secon_', 'second', '"f":', '":', '_', 'é'];
  for (let round = 0; round < 2000; round += 1) {
    const parts = Array.from({ length: 1 + random(40) }, () =>
      random(8) === 0 ? (signs[random(signs.length)] as string) : (almost[random(almost.length)] as string),
    );
    const text = `${'x'.repeat(random(20))}${parts.join('y'.repeat(random(3)))}`;
    t.equal(seriesSigns(Buffer.from(text)), plainly(text), text);
  }
  for (const sign of signs)
    for (let at = 65_510; at < 65_540; at += 1) {
      const text = Buffer.alloc(70_000, 'x');
      text.write(sign, at);
      t.equal(seriesSigns(text), plainly(sign), `${sign} at ${at}`);
      t.equal(seriesSigns(text.subarray(0, at + sign.length - 1)), 0, `the beginning of ${sign} at ${at}`);
    }
});
