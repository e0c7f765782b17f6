import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { GatewayError } from '../../../src/core/errors.ts';
import { type PoolBounds, ReaderPool } from '../../../src/inspect/threads/reader-pool.ts';
import type { Lost } from '../../../src/inspect/threads/reader-thread.ts';
import { readingTime } from '../../../src/inspect/threads/reading-time.ts';

const program = new URL('./program.ts', import.meta.url);
const acme = { tenantId: 'acme', agentId: 'one' };
const secret = 'ghp_a-secret-of-the-test';

/** The thread that answered. */
const idIn = (answer: unknown): number => (answer as { output: { threadId: number } }).output.threadId;

interface Test {
  teardown(close: () => Promise<void>): void;
}

function startPool(t: Test, threads: number, bounds: Partial<PoolBounds> = {}) {
  const lost: { lost: Lost; code: string | undefined }[] = [];
  const waiting: (() => void)[] = [];
  const pool = new ReaderPool({
    threads,
    program,
    bounds,
    onLost(how, code) {
      lost.push({ lost: how, code });
      for (const tell of waiting.splice(0)) tell();
    },
  });
  pool.start();
  t.teardown(() => pool.close());
  const run = (
    name: string,
    input: object = {},
    {
      owner = acme,
      timeoutMs = 60_000,
      bytes = 1,
      tools = { id: 1, settings: 'mild' } as object,
      beginning = undefined as number | undefined,
    } = {},
  ) =>
    pool.run(
      {
        ...{ name, input, timeoutMs, maxDecodedBytes: 1000, beginning },
        tools: tools as { id: number; settings: unknown },
      },
      owner,
      bytes,
    );
  const nextLost = () => new Promise<void>((resolve) => waiting.push(resolve));
  return { pool, lost, run, nextLost };
}

t.test('a job has its bytes, its tools, and gives back what it found', async (t) => {
  const { pool, run } = startPool(t, 1);
  for (const bytes of [Buffer.from('a few'), Buffer.alloc(100_000, 'many more ')]) {
    const answer = await run('echo', { text: 'words', bytes });
    t.match(answer, { output: { text: 'words', tools: 'mild', isBuffer: true } });
    const { output } = answer as { output: { bytes: Buffer } };
    t.ok(Buffer.isBuffer(output.bytes) && output.bytes.equals(bytes));
  }
  const pooled = Buffer.from(`${secret} and what was asked`).subarray(secret.length);
  const { output } = (await run('echo', { bytes: pooled })) as { output: { bytes: Buffer } };
  t.equal(output.bytes.buffer.byteLength, pooled.length, 'nothing beside the bytes crosses');
  const inside = Buffer.alloc(300_000, 'words ').subarray(7, 290_000);
  const first = (await run('echo', { bytes: inside })) as { output: { bytes: Buffer } };
  await run('echo', { bytes: Buffer.alloc(600_000, 'other ') });
  t.ok(first.output.bytes.equals(inside), 'the next job takes nothing from the one before');
  const strict = { id: 2, settings: 'strict' };
  t.match(await run('echo', {}, { tools: strict }), { output: { tools: 'strict' } });
  pool.forget([2]);
  t.match(await run('echo', {}, { tools: strict }), { output: { tools: 'strict' } }, 'it is told again');
});

t.test('a job whose thread is lost while its bytes are copied is told so', async (t) => {
  const { pool, run } = startPool(t, 1);
  await run('echo');
  const answer = run('echo', { bytes: Buffer.alloc(8_000_000, 'words ') });
  await pool.close();
  t.strictSame(await answer, { lost: 'death' });
});

t.test('long input that cannot be sent is an error of its own job, and its thread goes on', async (t) => {
  const { lost, run } = startPool(t, 1);
  const unsendable = { bytes: Buffer.alloc(1_000_000, 'words '), text: () => 'no data' };
  await t.rejects(run('echo', unsendable), { name: 'DataCloneError' });
  t.match(await run('echo', { text: 'next' }), { output: { text: 'next' } });
  t.same(lost, []);
});

t.test(
  'whoever waits for the threads waits until all are ready, or one cannot start, and not for long',
  async (t) => {
    const { pool } = startPool(t, 2);
    t.notOk(pool.hasBegun);
    await pool.beginning;
    t.ok(pool.hasBegun);
    const broken = new ReaderPool({
      ...{ threads: 1, program: new URL('./no-such-program.ts', import.meta.url) },
      onLost: () => undefined,
      bounds: { startMsMax: 600_000 },
    });
    t.teardown(() => broken.close());
    broken.start();
    await broken.beginning;
    t.notOk(broken.hasBegun, 'it has no program');
    const { pool: late } = startPool(t, 1, { startMsMax: 1 });
    await late.beginning;
    t.pass('nobody waits for ever');
    const closed = new ReaderPool({ threads: 1, program, onLost: () => undefined });
    await Promise.all([closed.close(), closed.beginning]);
  },
);

t.test('a job that is asked to end does so, and its thread goes on', async (t) => {
  const { lost, run } = startPool(t, 1);
  t.match(await run('read until it is over', {}, { timeoutMs: 5 }), { output: { text: 'it was over' } });
  t.match(await run('echo', { text: 'next' }), { output: { text: 'next' } });
  t.same(lost, []);
});

t.test('what is decoded has time of its own, and not for ever', async (t) => {
  const time = readingTime(1);
  while (!time.isOver());
  time.onDecoded(512 * 256 * 1024);
  t.equal(time.isOver(), false, 'an archive has the time of what is in it');
  while (!time.isOver()) time.onDecoded(1024 ** 3);
  t.pass('a bomb comes to its end');
});

t.test('a job that never ends is ended by the deadline, and others are done meanwhile', async (t) => {
  const { pool, lost, run, nextLost } = startPool(t, 2, { graceMs: 50 });
  await run('echo');
  const replaced = nextLost();
  const stuck = run('never end', {}, { timeoutMs: 20 });
  const others = Array.from({ length: 20 }, (_, at) => run('echo', { text: `${at}` }));
  for (const [at, other] of (await Promise.all(others)).entries())
    t.match(other, { output: { text: `${at}` } });
  t.same(await stuck, { lost: 'deadline' });
  await replaced;
  t.match(lost, [{ lost: 'deadline' }]);
  t.equal(pool.counts.lostToDeadline, 1);
  t.match(await run('echo', { text: 'again' }), { output: { text: 'again' } }, 'a new one has its place');
});

const long = { bytes: 2 * 1024 * 1024, timeoutMs: 60_000 };
const other = { owner: { tenantId: 'acme', agentId: 'other' } };

t.test('while long jobs have all threads, a further one does the short ones', async (t) => {
  const { pool, lost, run, nextLost } = startPool(t, 1, { waitingMax: 1 });
  const usual = idIn(await run('echo'));
  const endless = run('never end', {}, long).then(() => 'over');
  const waiting = run('never end', {}, long).then(() => 'over');
  await t.rejects(run('echo', {}, long), { code: 'GATEWAY_BUSY' }, 'there is room for one more that is long');
  for (const text of ['one', 'two', 'three']) {
    const answer = await run('echo', { text }, other);
    t.match(answer, { output: { text } });
    t.not(idIn(answer), usual);
  }
  t.equal(pool.counts.threads, 2);
  const isLost = nextLost();
  t.same(await run('exit', {}, other), { lost: 'death' });
  await isLost;
  t.match(lost, [{ lost: 'death' }]);
  t.match(await run('echo', { text: 'four' }, other), { output: { text: 'four' } }, 'it comes again');
  t.equal(await Promise.race([endless, waiting, Promise.resolve('not over')]), 'not over');
  t.equal(pool.counts.waiting, 1, 'a second long job waits for the first');
  t.equal(pool.counts.threads, 2);
});

t.test('it does so as well where threads took their long jobs from the queue', async (t) => {
  const { run } = startPool(t, 2);
  await run('echo');
  const first = Array.from({ length: 4 }, () => run('read until it is over', {}, { ...long, timeoutMs: 10 }));
  const endless = [run('never end', {}, long), run('never end', {}, long)];
  await Promise.all(first);
  t.match(await run('echo', { text: 'short' }, other), { output: { text: 'short' } });
  t.equal(await Promise.race([...endless, Promise.resolve('not over')]), 'not over');
});

t.test('short jobs take no turn of a long one', async (t) => {
  const { run } = startPool(t, 1);
  const b = { ...long, owner: { tenantId: 'beta', agentId: 'one' } };
  await run('echo');
  const busy = run('read until it is over', {}, { ...long, timeoutMs: 20 });
  const jobs = ['b1', 'b2', 'b3'].map((text) => run('echo', { text }, b));
  jobs.push(run('echo', { text: 'own' }, { ...long, ...other }));
  const short = Array.from({ length: 20 }, () => run('echo', { text: 'short' }));
  await Promise.all([busy, ...jobs, ...short]);
  const { output } = (await run('order')) as { output: { order: string[] } };
  t.same(
    output.order.filter((text) => /^b|own/.test(text)),
    ['b1', 'own', 'b2', 'b3'],
  );
});

t.test('a further thread without work is ended', async (t) => {
  const { pool, lost, run } = startPool(t, 1, { idleMsMax: 1 });
  const echo = await run('echo');
  for (let round = 0; round < 2; round++) {
    const busy = run('read until it is over', {}, { ...long, timeoutMs: 20 });
    const short = run('echo');
    t.equal(pool.counts.threads, 2);
    t.match(await busy, { output: { text: 'it was over' } });
    await short;
    while (pool.counts.threads > 1) await sleep(5);
    t.equal(idIn(await run('echo')), idIn(echo), 'the others stay');
  }
  t.same(lost, [], 'and nothing was lost with it');
});

const deaths = [
  { name: 'exit', code: undefined },
  { name: 'fill the memory', code: 'ERR_WORKER_OUT_OF_MEMORY' },
  { name: 'throw later', code: 'RangeError' },
];
for (const { name, code } of deaths) {
  t.test(`a thread that dies (${name}) costs its own job alone`, async (t) => {
    const { pool, lost, run, nextLost } = startPool(t, 1, { heapMbMax: 32 });
    const replaced = nextLost();
    const dying = run(name, { text: secret });
    const next = run('echo', { text: 'next' });
    t.same(await dying, { lost: 'death' });
    await replaced;
    t.same(lost, [{ lost: 'death', code }]);
    t.notMatch(JSON.stringify(lost), secret, 'what it said is not told');
    t.match(await next, { output: { text: 'next' } });
    t.equal(pool.counts.lostToDeath, 1);
  });
}

t.test('a bug is told by its kind and its place, never by its words', async (t) => {
  const { run, lost } = startPool(t, 1);
  const error: Error = await run('throw', { text: secret }).then(
    () => t.fail('it was thrown'),
    (it) => it,
  );
  t.match(error.stack, /TypeError.*\n.*program\.ts/s);
  t.notMatch(`${error.message} ${error.stack} ${JSON.stringify(error)}`, secret);
  t.match(await run('echo', { text: 'next' }), { output: { text: 'next' } });
  t.same(lost, []);
});

const isBusy = { code: 'GATEWAY_BUSY', extra: { retryAfterSeconds: 1 } };

t.test('where too much waits, the next one is refused at once', async (t) => {
  const { pool, run } = startPool(t, 1, { waitingMax: 4, waitingBytesMax: 1000 });
  await run('echo');
  const busy = run('read until it is over', {}, { timeoutMs: 100 });
  const waiting = [run('echo', {}, { bytes: 400 }), run('echo', {}, { bytes: 10 })];
  await t.rejects(run('echo', {}, { bytes: 1 }), isBusy, 'half of the room is for other tenants');
  const globex = { tenantId: 'globex', agentId: 'one' };
  const theirs = run('echo', {}, { owner: globex, bytes: 100 });
  const umbra = { tenantId: 'umbra', agentId: 'one' };
  await t.rejects(run('echo', {}, { owner: umbra, bytes: 500 }), isBusy, 'not so many bytes');
  t.match(pool.counts, { refused: 2, waiting: 3, waitingBytes: 510 });
  await Promise.all([busy, theirs, ...waiting]);
  t.match(pool.counts, { waiting: 0, waitingBytes: 0 });
});

t.test('nobody waits for ever', async (t) => {
  const { run } = startPool(t, 1, { waitMsMax: 20, graceMs: 10 });
  await t.rejects(
    Promise.all(Array.from({ length: 3 }, () => run('never end', {}, { timeoutMs: 200 }))),
    isBusy,
  );
});

t.test('tenants take turns, and so do the agents of each', async (t) => {
  const { run } = startPool(t, 1);
  await run('echo');
  const first = run('read until it is over', { text: 'first' }, { timeoutMs: 50 });
  const jobs = ['acme one', 'acme one', 'acme one', 'acme two', 'globex one', 'globex one'].map(
    (name, at) => {
      const [tenantId = '', agentId = ''] = name.split(' ');
      return run('echo', { text: `${name} ${at}` }, { owner: { tenantId, agentId } });
    },
  );
  await Promise.all([first, ...jobs]);
  const { output } = (await run('order')) as { output: { order: string[] } };
  t.same(output.order.slice(2, -1), [
    'acme one 0',
    'globex one 4',
    'acme two 3',
    'globex one 5',
    'acme one 1',
    'acme one 2',
  ]);
});

t.test('what begins alike is read by the same thread, unless that one has other work', async (t) => {
  const { pool, run } = startPool(t, 2);
  await pool.beginning;
  const threadFor = async (beginning: number): Promise<number> => idIn(await run('echo', {}, { beginning }));
  const [even, odd] = [await threadFor(4), await threadFor(7)];
  t.not(even, odd);
  for (let round = 0; round < 5; round += 1) {
    t.equal(await threadFor(4), even);
    t.equal(await threadFor(7), odd);
  }
  const busy = run('read until it is over', {}, { timeoutMs: 50, beginning: 4 });
  t.equal(await threadFor(4), odd, 'nobody waits for it');
  await busy;
});

t.test(
  'where all threads have work each takes what it has read the beginning of, and passes over others for a while',
  async (t) => {
    const { pool, run } = startPool(t, 2);
    await pool.beginning;
    const even = idIn(await run('echo', {}, { beginning: 0 }));
    const blocked = run('read until it is over', {}, { timeoutMs: 400, beginning: 1 });
    const busy = run('read until it is over', { text: 'busy' }, { timeoutMs: 30, beginning: 0 });
    const ofOther = run('echo', { text: 'of the other' }, { beginning: 1 });
    const own = Array.from({ length: 12 }, (_, at) => run('echo', { text: `own ${at}` }, { beginning: 0 }));
    t.same((await Promise.all(own)).map(idIn), Array(12).fill(even));
    await Promise.all([busy, ofOther]);
    const { output } = (await run('order', {}, { beginning: 0 })) as { output: { order: string[] } };
    t.same(
      output.order.slice(output.order.indexOf('busy') + 1, -1),
      [
        ...Array.from({ length: 8 }, (_, at) => `own ${at}`),
        'of the other',
        'own 8',
        'own 9',
        'own 10',
        'own 11',
      ],
      'eight were taken before it',
    );
    await blocked;
  },
);

t.test('when it is closed nothing is left', async (t) => {
  const { pool, run, lost } = startPool(t, 1);
  await run('echo');
  const jobs = Array.from({ length: 5 }, () => run('never end'));
  const ended = Promise.allSettled(jobs);
  await pool.close();
  const codes = (await ended).map((it) =>
    it.status === 'rejected' ? (it.reason as GatewayError).code : (it.value as { lost: Lost }).lost,
  );
  t.same(codes, ['death', ...Array(4).fill('SHUTTING_DOWN')]);
  await t.rejects(run('echo'), { code: 'SHUTTING_DOWN' });
  t.same(lost, [], 'that is no loss');
});
