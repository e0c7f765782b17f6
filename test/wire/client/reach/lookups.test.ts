import t from 'tap';
import { createLookups, domainsMax, waitingNamesMax } from '../../../../src/wire/client/reach/lookups.ts';

const answers = [{ address: '192.0.2.1' }];

/** Lookups that end when they are told to. */
function startLab() {
  const asked: string[] = [];
  const open = new Map<string, { resolve(all: typeof answers): void; reject(error: Error): void }>();
  let nowMs = 0;
  const find = createLookups(
    (host) => {
      asked.push(host);
      return new Promise((resolve, reject) => open.set(host, { resolve, reject }));
    },
    () => nowMs,
  );
  const end = async (host: string, error?: Error): Promise<void> => {
    const it = open.get(host);
    if (error) it?.reject(error);
    else it?.resolve(answers);
    await new Promise((resolve) => setImmediate(resolve));
  };
  /** Nobody waits for them any more. */
  const ask = (...hosts: string[]): void => {
    for (const host of hosts) find(host).catch(() => undefined);
  };
  return { asked, find, ask, end, pass: (ms: number) => (nowMs += ms) };
}

const many = (count: number, domain: string) => Array.from({ length: count }, (_, i) => `h${i}.${domain}`);

t.test('names of one domain that nobody answers keep no other name waiting', async (t) => {
  const { asked, find, ask, end } = startLab();
  ask(...many(1_000, 'slow.test'));
  t.same(asked, many(4, 'slow.test'));
  const found = find('a.example');
  t.equal(asked.at(-1), 'a.example');
  await end('a.example');
  t.equal(await found, answers);
  await end('h1.slow.test');
  t.equal(asked.at(-1), 'h4.slow.test', 'the next of the domain has its turn');
});

t.test('where all threads are taken, the domains that wait have them in turn', async (t) => {
  const { asked, ask, end } = startLab();
  for (let i = 0; i < 20; i++) ask(...many(10, `slow${i}.test`));
  t.equal(asked.length, 20, 'some are left for domains that have answered, and for other work');
  ask('a.example', 'b.example');
  t.equal(asked.length, 20);
  const waited: string[] = [];
  for (let i = 0; i < 24; i++) {
    await end(asked[i] ?? '', new Error('no answer'));
    waited.push(asked.at(-1) ?? '');
  }
  const turn = waited.findIndex((it) => it.endsWith('.example'));
  t.ok(turn >= 0 && turn <= 20, `a domain has its turn after ${turn} others, not after all of their names`);
});

t.test('a domain that has answered has threads that no others get', async (t) => {
  const { asked, find, ask, end, pass } = startLab();
  const first = find('a.good.example');
  await end('a.good.example');
  t.equal(await first, answers);
  for (let i = 0; i < 20; i++) ask(...many(10, `dead${i}.test`));
  t.equal(asked.length, 1 + 20);
  ask('b.good.example');
  t.equal(asked.at(-1), 'b.good.example');
  pass(2_001);
  await end('b.good.example');
  ask('c.good.example');
  t.not(asked.at(-1), 'c.good.example', 'until it is slow');
  await end('h0.dead0.test', new Error('no such name'));
  for (let i = 1; i < 20 && !asked.includes('c.good.example'); i++)
    await end(asked[i] ?? '', new Error('no such name'));
  await end('c.good.example');
  ask('d.good.example');
  t.not(asked.at(-1), 'd.good.example', 'and for a while after that');
});

t.test('a name that has answered waits for no other one of its domain', async (t) => {
  const { asked, ask, end, pass } = startLab();
  ask('api.good.example');
  await end('api.good.example');
  ask(...many(100, 'dead.good.example'));
  t.equal(asked.length, 1 + 4);
  ask('api.good.example');
  t.equal(asked.at(-1), 'api.good.example');
  pass(2_001);
  await end('api.good.example');
  ask('api.good.example');
  t.equal(asked.length, 1 + 4 + 1, 'until it is slow itself');
});

t.test('so many domains are remembered and no more', async (t) => {
  const { asked, ask, end } = startLab();
  for (let i = 0; i <= domainsMax; i++) {
    ask(`a.fast${i}.test`);
    await end(`a.fast${i}.test`);
  }
  for (let i = 0; i < 20; i++) ask(...many(10, `dead${i}.test`));
  ask('b.fast0.test');
  t.not(asked.at(-1), 'b.fast0.test', 'the first one was forgotten');
  ask('b.fast1.test');
  t.equal(asked.at(-1), 'b.fast1.test');
});

t.test('countries divide their domains once more', async (t) => {
  const { asked, ask } = startLab();
  ask(...many(10, 'slow.co.uk'), ...many(10, 'other.co.uk'), ...many(10, 'slow.example.io'), 'localhost');
  ask(...many(10, 'abc.de'), ...many(10, 'github.io'));
  const asDomain = (domain: string) => asked.filter((it) => it.endsWith(domain)).length;
  const domains = ['slow.co.uk', 'other.co.uk', 'example.io', 'localhost', 'abc.de', 'github.io'];
  t.same(domains.map(asDomain), [4, 4, 4, 1, 4, 3], 'of 20 for domains that have not answered');
});

t.test('a name is looked up once for all who wait for it, and anew for the next', async (t) => {
  const { asked, find, end } = startLab();
  const both = [find('a.example'), find('a.example')];
  t.same(asked, ['a.example']);
  await end('a.example');
  t.same(await Promise.all(both), [answers, answers]);
  const again = find('a.example');
  t.same(asked, ['a.example', 'a.example'], 'nothing is remembered');
  const failed = t.rejects(again, { message: 'no such name' });
  await end('a.example', new Error('no such name'));
  await failed;
});

t.test('so many names wait and no more, and none for which nobody waits is asked for', async (t) => {
  const { asked, find, ask, end, pass } = startLab();
  ask('a.good.example');
  await end('a.good.example');
  asked.length = 0;
  ask(...many(waitingNamesMax + 4, 'slow.test'));
  t.throws(() => find('one-more.slow.test'), { code: 'GATEWAY_BUSY' });
  ask(...many(waitingNamesMax + 4, 'good.example'));
  t.throws(() => find('one-more.good.example'), { code: 'GATEWAY_BUSY' });
  t.same(asked.splice(4), many(4, 'good.example'), 'domains that have answered have room of their own');
  pass(15_001);
  for (let i = 0; i < 4; i++) await end(`h${i}.good.example`);
  await end('h0.slow.test');
  t.same(asked, many(4, 'slow.test'), 'those that waited for long are given up');
  const found = find('late.slow.test');
  t.equal(asked.at(-1), 'late.slow.test', 'and make room');
  await end('late.slow.test');
  t.equal(await found, answers);
});
