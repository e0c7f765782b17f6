import t from 'tap';
import { checkpointsOf } from '../../../src/inspect/segments/checkpoints.ts';
import { LastBodies } from '../../../src/inspect/segments/last-bodies.ts';
import { type Segment, SegmentMemory } from '../../../src/inspect/segments/segment-memory.ts';

const long = (letter: string): string => letter.repeat(3000);
const bodyOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const placesIn = (body: Buffer, seed = ''): number[] => checkpointsOf(body, seed).map(({ end }) => end);

t.test('checkpoints of a JSON text', async (t) => {
  const first = bodyOf([long('a'), long('b')]);
  t.same(
    placesIn(first).map((end) => first.toString('latin1', end - 2, end)),
    ['a"', 'b"'],
    'they stand right behind long strings',
  );
  const second = bodyOf([long('a'), long('b'), long('c')]);
  const keys = (body: Buffer, seed: string): string[] => checkpointsOf(body, seed).map(({ key }) => key);
  t.same(keys(first, 's'), keys(second, 's').slice(0, 2), 'texts that begin alike have the same keys');
  t.notMatch(keys(first, 's')[0], keys(first, 'other')[0], 'but not for another seed');
  const other = bodyOf([`x${long('a')}`, long('b')]);
  for (const key of keys(other, 's'))
    t.notOk(keys(first, 's').includes(key), 'one byte makes all keys others');

  const short = bodyOf(Array.from({ length: 2000 }, (_, at) => `word ${at}`));
  const places = placesIn(short);
  t.ok(places.length > 2, 'between short strings there are some');
  for (const [at, end] of places.entries()) t.ok(end - (places[at - 1] ?? 0) >= 4096, 'but not many');

  t.same(placesIn(bodyOf([`a \\" ${long('b')}`])).length, 1, 'a quote behind a backslash ends no string');
  t.same(placesIn(Buffer.from(`["${long('a')}`)), [], 'a string that does not end is none');
  t.same(placesIn(Buffer.from(`["${long('a')}\\`)), [], 'nor is one that ends with a backslash');
  t.same(
    placesIn(bodyOf([long('a'), [['name'], ['Ann']], long('b')])).length,
    1,
    'a table hides what comes behind it',
  );
  t.same(placesIn(Buffer.from(`[ "${long('a')}", [ [ "${long('b')}" ] ] ]`)).length, 1, 'with spaces, too');

  const many = bodyOf(Array.from({ length: 12_000 }, () => long('a')));
  t.equal(placesIn(many).length, 8192, 'there are never more than 8,192');
});

t.test('among the bodies that were met last a body has the checkpoints that it has alone', async (t) => {
  const last = new LastBodies({ countMax: 4, bytesMax: 200_000 });
  let state = 11;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const talks: unknown[][] = Array.from({ length: 6 }, () => [long('system')]);
  for (let turn = 0; turn < 200; turn++) {
    const at = random(talks.length);
    const talk = talks[at] as unknown[];
    // Some begin anew, some go on from an earlier place, and some have a table.
    if (talk.length > 12) talk.length = 1 + random(3);
    else if (random(5) === 0) talk.length -= random(Math.min(3, talk.length));
    talk.push({ content: 'x'.repeat(random(9_000)), at: random(3) }, `y${turn}`.repeat(random(400)));
    if (random(12) === 0) talk.push([['name'], ['Ann']]);
    const body = bodyOf(talk);
    t.same(last.checkpointsOf(body, 's', `${at % 2}`), checkpointsOf(body, 's'));
    t.ok(last.size <= 200_000);
  }
  const huge = bodyOf(Array.from({ length: 300 }, () => long('a')));
  t.same(last.checkpointsOf(huge, 's', 'one'), checkpointsOf(huge, 's'));
  t.ok(last.size <= 200_000, 'a body that is larger than all of them may be is not kept');
  const body = bodyOf([long('a'), long('b')]);
  const [first] = last.checkpointsOf(body, 's', 'one');
  t.not(last.checkpointsOf(body, 's', 'other')[0], first, 'what others have sent is not compared');
  t.equal(last.checkpointsOf(body, 's', 'one')[0], first);
});

t.test('what is remembered is bounded', async (t) => {
  const memory = new SegmentMemory<string>({ bytesMax: 1000, tenantShare: 0.5 });
  const segment = (key: string, before?: Segment<string>, size = 100): Segment<string> => ({
    ...{ key, content: key, size, before },
  });
  const known = (tenantId: string, keys: string): string =>
    [...keys].filter((key) => memory.get(tenantId, key)).join('');

  const a = segment('a');
  const b = segment('b', a);
  memory.keep('acme', b);
  t.equal(known('acme', 'ab'), 'ab', 'with a beginning all its segments are kept');
  t.equal(known('other', 'ab'), '', 'for their tenant alone');
  t.equal(memory.size, 200);
  memory.keep('acme', b);
  t.equal(memory.size, 200, 'and counted once');

  memory.keep('acme', segment('d', segment('c')));
  memory.keep('acme', b);
  memory.keep('acme', segment('f', segment('e')));
  t.equal(
    known('acme', 'abcdef'),
    'abcef',
    'the end of the beginning that was not met for longest goes first',
  );
  t.equal(memory.size, 500, 'and a tenant never has more than its share');
  memory.keep('acme', segment('g', undefined, 600));
  t.equal(known('acme', 'abcefg'), '', 'what is larger than that is not kept');
  t.equal(memory.size, 0);

  for (const tenantId of ['one', 'two', 'three']) memory.keep(tenantId, segment('x', segment('y'), 300));
  t.equal(memory.size, 800, 'nor do all tenants together have more than all');
  t.equal(known('one', 'xy'), '', 'those that were not met for longest go');
  t.equal(known('three', 'xy'), 'xy');
});
