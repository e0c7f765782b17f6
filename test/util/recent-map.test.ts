import t from 'tap';
import { RecentMap } from '../../src/util/recent-map.ts';

t.test('the entry that was set longest ago makes room', (t) => {
  const map = new RecentMap<string, number>(3);
  for (const key of ['a', 'b', 'c']) map.set(key, 1);
  t.equal(map.get('a'), 1, 'reading keeps its place');
  map.set('d', 1);
  t.same([...map.keys()], ['b', 'c', 'd']);
  map.set('b', 2).set('e', 1);
  t.same(
    [...map],
    [
      ['d', 1],
      ['b', 2],
      ['e', 1],
    ],
  );
  t.end();
});

t.test('however many entries come, it holds no more than its limit', (t) => {
  const map = new RecentMap<number, undefined>(10);
  for (let key = 0; key < 10_000; key += 1) map.set(key, undefined);
  t.equal(map.size, 10);
  t.same([...map.keys()].at(0), 9_990, 'an undefined key or value is an entry like any other');
  t.end();
});
