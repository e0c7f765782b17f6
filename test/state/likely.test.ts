import t from 'tap';
import { type LikelySource, likelyStarts } from '../../src/state/traces/likely.ts';
import { statIntervals } from '../../src/state/traces/stats.ts';

const minuteMs = statIntervals.minute;
const newestMs = Math.floor(Date.now() / minuteMs) * minuteMs;
const minutes = 600;

/** A window in each minute, of which every other one may have what is looked for. */
const source: LikelySource = {
  *starts(fromMs, oldestMs) {
    for (let ms = Math.floor(fromMs / minuteMs) * minuteMs; ms >= oldestMs; ms -= minuteMs) yield ms;
  },
  mayHave: (interval, starts) => starts.map((it) => interval !== 'minute' || (it / minuteMs) % 2 === 0),
};
const range = [newestMs, newestMs - minutes * minuteMs] as const;

async function all(reach?: { isLate(): boolean; leftMs?: number }, from: number = range[0]) {
  const found: number[] = [];
  for await (const ms of likelyStarts(source, { toolName: 'x' }, [from, range[1]], reach)) found.push(ms);
  return found;
}

t.test('a search that leaps for too long ends, and goes on where it ended', async (t) => {
  const whole = await all();
  t.ok(whole.length >= minutes / 2, 'every other minute');
  const found: number[] = [];
  let turns = 0;
  for (let from: number | undefined = range[0]; from !== undefined; turns += 1) {
    const reach: { isLate(): boolean; leftMs?: number } = { isLate: () => true };
    found.push(...(await all(reach, from)));
    from = reach.leftMs;
  }
  t.ok(turns > 10, 'in many turns');
  t.same(found, whole, 'nothing is left out, nothing comes twice');
  const reach = { isLate: () => false };
  t.same(await all(reach), whole, 'in one, where there is time');
  t.notOk('leftMs' in reach);
});
