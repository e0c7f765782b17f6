import t from 'tap';
import { askedAtOnceMax, ManyAsked } from '../../src/notify/many-asked.ts';

t.test('the first held calls of a tenant within a minute stand alone, and those of others too', async (t) => {
  const asked = new ManyAsked();
  for (let at = 0; at < askedAtOnceMax; at += 1) t.notOk(asked.isOneOfMany('acme', 1_000 + at));
  t.ok(asked.isOneOfMany('acme', 2_000));
  t.notOk(asked.isOneOfMany('beta', 2_000));
  t.ok(asked.isOneOfMany('acme', 60_999));
  t.notOk(asked.isOneOfMany('acme', 61_000), 'a minute after the first');
  t.notOk(asked.isOneOfMany('acme', 500), 'a clock that was set back begins anew');
});

t.test('of more than a thousand tenants those are remembered that asked last', async (t) => {
  const asked = new ManyAsked();
  for (let at = 0; at <= askedAtOnceMax; at += 1) asked.isOneOfMany('first', 0);
  for (let at = 0; at < 999; at += 1) asked.isOneOfMany(`tenant-${at}`, 1);
  t.ok(asked.isOneOfMany('first', 1));
  asked.isOneOfMany('one-more', 1);
  t.notOk(asked.isOneOfMany('first', 1));
});
