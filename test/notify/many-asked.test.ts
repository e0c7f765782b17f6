import t from 'tap';
import { askedAtOnceMax, createManyAsked } from '../../src/notify/many-asked.ts';

t.test('the first held calls of a tenant within a minute stand alone, and those of others too', async (t) => {
  const { isOneOfMany } = createManyAsked();
  for (let at = 0; at < askedAtOnceMax; at += 1) t.notOk(isOneOfMany('acme', 1_000 + at));
  t.ok(isOneOfMany('acme', 2_000));
  t.notOk(isOneOfMany('beta', 2_000));
  t.ok(isOneOfMany('acme', 60_999));
  t.notOk(isOneOfMany('acme', 61_000), 'a minute after the first');
  t.notOk(isOneOfMany('acme', 500), 'a clock that was set back begins anew');
});

t.test('of more than a thousand tenants those are remembered that asked last', async (t) => {
  const { isOneOfMany } = createManyAsked();
  for (let at = 0; at <= askedAtOnceMax; at += 1) isOneOfMany('first', 0);
  for (let at = 0; at < 999; at += 1) isOneOfMany(`tenant-${at}`, 1);
  t.ok(isOneOfMany('first', 1));
  isOneOfMany('one-more', 1);
  t.notOk(isOneOfMany('first', 1));
});
