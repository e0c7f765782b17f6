import t from 'tap';
import { createCache } from '../../src/state/cache.ts';

t.test('never holds more than its bound, and keeps what is used', async (t) => {
  const cache = createCache<number>(100);
  const held = () =>
    Array.from({ length: 10_000 }, (_, at) => at).filter((at) => cache.get(`k${at}`) !== undefined);
  for (let at = 0; at < 10_000; at += 1) {
    cache.set(`k${at}`, at);
    if (cache.get('k0') !== 0) t.fail('what is used was dropped');
  }
  const kept = held();
  t.ok(kept.length >= 50 && kept.length <= 100, `${kept.length} of 10,000`);
  t.ok(kept.includes(9_999) && kept.includes(0), 'the newest and the one that was asked for all the time');
  t.notOk(kept.includes(5_000));
});

t.test('a deleted or replaced entry does not come back from the old generation', async (t) => {
  const cache = createCache<string>(4);
  cache.set('a', 'old');
  cache.set('b', 'old');
  cache.set('c', 'fills the young generation');
  cache.delete('a');
  t.equal(cache.get('a'), undefined);
  cache.set('b', 'new');
  t.equal(cache.get('b'), 'new');
});
