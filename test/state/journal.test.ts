import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { TrustMark } from '../../src/core/history.ts';
import { newId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { parseLine, toLine } from '../../src/state/journal/line.ts';
import { Journal, type JournalOptions } from '../../src/state/journal.ts';
import type { CallBatch, RecordedCall } from '../../src/state/store.ts';
import { startChild } from './child.ts';
import { recordedCall } from './records.ts';

/** What a driver does that takes calls one by one. */
function readBatch({ lines }: CallBatch): { calls: RecordedCall[]; unreadable: number } {
  const texts = Buffer.from(lines).toString().split('\n').slice(0, -1);
  const calls = texts.flatMap((text) => parseLine(text) ?? []);
  return { calls, unreadable: texts.length - calls.length };
}

/** A journal that ships into `shipped` and collects what it reports. It does not ship by itself unless told to. */
async function open(t: Test, dir: string, options: Partial<JournalOptions> = {}) {
  const batches: CallBatch[] = [];
  const errors: unknown[] = [];
  const journal: Journal = new Journal({
    dir,
    ship: async (batch) => {
      batches.push(batch);
      return readBatch(batch).unreadable;
    },
    onError: (error) => errors.push(error),
    shipIntervalMs: 1_000_000,
    ...options,
  });
  t.teardown(() => journal.close());
  return { journal, batches, errors, shipped: () => batches.flatMap((batch) => readBatch(batch).calls) };
}

const manyCalls = (count: number) => Array.from({ length: count }, () => recordedCall());
const appendAll = (journal: Journal, calls: readonly RecordedCall[]) =>
  Promise.all(calls.map((call) => journal.append(call)));
const files = (dir: string) => readdirSync(dir).sort();
const linesIn = (dir: string) =>
  files(dir).reduce((sum, name) => sum + readFileSync(join(dir, name), 'utf8').split('\n').length - 1, 0);

t.test('a call is in the file once append resolves', async (t) => {
  const dir = join(t.testdir(), 'journal');
  const { journal, shipped } = await open(t, dir);
  const calls = manyCalls(3);
  const promises = calls.map((call) => journal.append(call));
  t.equal(new Set(promises).size, 1, 'calls of one turn share a promise');
  t.same(files(dir), [], 'and nothing is written before the turn ends');
  await Promise.all(promises);
  const [name = ''] = files(dir);
  t.match(readFileSync(join(dir, name), 'utf8'), calls[2]?.traceId);
  t.equal(statSync(join(dir, name)).mode & 0o777, 0o600);
  t.equal(statSync(dir).mode & 0o777, 0o700);
  t.same(shipped(), [], 'not shipped yet');
});

t.test('a line whose charges are none is not whole', (t) => {
  const whole = toLine(recordedCall({ charges: [{ name: 'a', day: '2026-11-21', amount: 1 }] })).trimEnd();
  t.match(parseLine(whole), { charges: [{ name: 'a', day: '2026-11-21', amount: 1 }] });
  const spent = '[["a","2026-11-21",1]]';
  for (const other of [
    '',
    '7',
    '"x"',
    '[[]]',
    '[["a","2026-11-21"]]',
    '[["a","2026-99-99",1]]',
    '[["a","yesterday",1]]',
    '[["a","2026-11-21",-1]]',
    '[["a","2026-11-21",1e999]]',
    '[["a","2026-11-21","1"]]',
    `${spent}\t${spent}`,
    `${spent.slice(0, -1)}`,
  ])
    t.equal(parseLine(whole.replace(spent, other)), undefined, other);
  t.end();
});

t.test('what else a call has stands in its line as it was', (t) => {
  const hostile = ['', '"', 'a b', '\t{"', '\n', ']', '],["x', '\0', '\u2028', '\ud800 ✓', '__proto__', '{}'];
  const marks = hostile.map(
    (traceId, at): TrustMark => ({ cause: 'threat', parts: at, atMs: 2 ** 53 - 1, traceId }),
  );
  const charges = hostile.map((name) => ({ name, day: '2026-11-21', amount: 1 }));
  const cases: readonly Partial<RecordedCall>[] = [
    { sizeClass: 1 },
    { sizeClass: 2 ** 53 - 1 },
    { names: hostile.map(ownName) },
    { marks },
    { sizeClass: 400, names: hostile.map(ownName), marks, charges },
    { credential: 'github-bot' },
    { sizeClass: 3, charges, credential: 'a.b-c_d' },
    { names: hostile.map(ownName), destination: ownName('\t{"a"}'), charges },
    { marks, agentId: '[1]\t', tenantId: '[]' },
    { names: [ownName('x'.repeat(100_000))] },
  ];
  for (const fields of cases) {
    const call = recordedCall(fields);
    const line = toLine(call);
    t.equal(line.indexOf('\n'), line.length - 1, 'one line');
    t.same(parseLine(line.trimEnd()), call);
  }
  const empty = recordedCall();
  const nothing = { sizeClass: 0, names: [], marks: [], charges: [] };
  t.same(parseLine(toLine({ ...empty, ...nothing }).trimEnd()), empty, 'what says nothing is left out');
  t.end();
});

t.test('a line whose size class, names or marks are none is not whole', (t) => {
  const marks: TrustMark[] = [{ cause: 'denial', parts: 500, atMs: 7, traceId: 'x' }];
  const whole = toLine(recordedCall({ sizeClass: 80, names: [ownName('a')], marks })).trimEnd();
  t.match(parseLine(whole), { sizeClass: 80, names: [ownName('a')], marks });
  const listAt = whole.indexOf('\t[');
  const held = '["denial",500,7,"x"]';
  const spoilt: readonly (readonly [part: string, others: readonly string[]])[] = [
    ['80', ['-1', '0.5', '1e999', '"80"', 'null', '[80]', '']],
    ['["a"]', ['"a"', '[7]', '[null]', '{}', '[["a"]]', '']],
    [held, ['7', '"denial"', '[]', '{}', 'null']],
    ['"denial"', ['"praise"', '"__proto__"', '7', 'null']],
    ['500', ['-500', '0.5', '1e999', '"500"', 'null']],
    [',7', [',-7', ',1e999', ',"7"', ',null']],
    ['"x"', ['7', 'null', '["x"]']],
  ];
  for (const [part, others] of spoilt) {
    t.ok(whole.includes(part));
    for (const other of others) {
      const line = whole.slice(0, listAt) + whole.slice(listAt).replace(part, other);
      t.equal(parseLine(line), undefined, `${other} for ${part}`);
    }
  }
  t.end();
});

t.test('ships in order and in batches, whatever the calls hold', async (t) => {
  const dir = t.testdir();
  const { journal, batches, shipped } = await open(t, dir, {
    shipBatchBytes: 4_000,
    segmentBytesMax: 10_000,
  });
  const calls = [
    recordedCall({
      destination: ownName('tab\there\nand newline "quoted" ✓'),
      tenantId: 'a\tb',
      decision: 'DENY',
      outcome: 'blocked',
    }),
    ...['', '"', '{"a":1}', 'x\t{', '\t{}\n', '\0\r\u2028', '\ud800', 'é', '[]', '\\'].map((destination) =>
      recordedCall({
        destination: ownName(destination),
        agentId: destination,
        keyId: destination,
        tenantId: destination,
      }),
    ),
    recordedCall({ line: ownName(JSON.stringify({ long: 'é'.repeat(400_000) })) }),
    ...['a b', '\t{"', ']', '\ud800 ✓', '__proto__'].map((name) =>
      recordedCall({
        destination: ownName(name),
        charges: [{ name, day: '2026-11-21', amount: 2 ** 53 - 1 }],
      }),
    ),
    ...manyCalls(300),
  ];
  for (let at = 0; at < calls.length; at += 25) await appendAll(journal, calls.slice(at, at + 25));
  await journal.flush();
  t.same(shipped(), calls);
  const long = batches.filter(({ lines }) => lines.length > 4_000);
  t.match(long.map(readBatch), [{ calls: [calls[11]] }], 'a long line is shipped alone');
  t.ok(
    batches.every(({ mayRepeat }) => !mayRepeat),
    'nothing of it was shipped before',
  );
  t.equal(files(dir).length, 1, 'what is shipped is deleted, but for the file that is written to');
  await journal.close();
  t.same(files(dir), []);
});

t.test('ships by itself, after a while or a full batch', async (t) => {
  for (const options of [{ shipIntervalMs: 1 }, { shipBatchBytes: 1_000 }]) {
    const arrived = Promise.withResolvers<void>();
    const ship = async () => {
      arrived.resolve();
      return 0;
    };
    const { journal } = await open(t, join(t.testdir(), String(options.shipBatchBytes)), {
      ...options,
      ship,
    });
    await appendAll(journal, manyCalls(10));
    await arrived.promise;
    t.pass(JSON.stringify(options));
  }
});

t.test('flush takes what is appended while another flush is under way', async (t) => {
  const { journal, shipped } = await open(t, t.testdir());
  const calls = manyCalls(20);
  const flushes = calls.map((call) => {
    const written = journal.append(call);
    return Promise.all([written, journal.flush()]);
  });
  await Promise.all(flushes);
  t.same(shipped(), calls, 'each once');
});

t.test('ships what an earlier process left behind', async (t) => {
  const dir = t.testdir();
  const calls = manyCalls(30);
  const before = await open(t, dir, {
    segmentBytesMax: 2_000,
    ship: () => Promise.reject(new Error('the state is away')),
  });
  await appendAll(before.journal, calls.slice(0, 10));
  await appendAll(before.journal, calls.slice(10));
  await before.journal.close();
  t.match(before.errors, [{ message: 'the state is away' }]);
  t.equal(linesIn(dir), 30);

  const arrived = Promise.withResolvers<void>();
  const shipped: RecordedCall[] = [];
  const repeats = new Map<string, boolean>();
  const ship = async (batch: CallBatch) => {
    const { calls } = readBatch(batch);
    shipped.push(...calls);
    for (const { traceId } of calls) repeats.set(traceId, batch.mayRepeat);
    if (shipped.length === 31) arrived.resolve();
    return 0;
  };
  const { journal, errors } = await open(t, dir, { ship, shipIntervalMs: 1 });
  const late = recordedCall();
  await journal.append(late);
  await arrived.promise;
  t.same(shipped, [...calls, late], 'older ones first');
  t.ok(
    calls.every(({ traceId }) => repeats.get(traceId)),
    'of which some may have arrived',
  );
  t.notOk(repeats.get(late.traceId));
  t.same(errors, []);
});

t.test('drops a torn end, and reports lines that are not whole', async (t) => {
  const calls = manyCalls(3);
  const cases = [
    { name: 'a torn line', spoil: (file: string) => appendFileSync(file, '["0192'), lost: 0 },
    { name: 'noise', spoil: (file: string) => appendFileSync(file, 'noise\n["x"]\t{\n\0\0\n'), lost: 3 },
    { name: 'noise that is torn', spoil: (file: string) => appendFileSync(file, 'noise\n{'), lost: 1 },
    { name: 'a file of others', spoil: (file: string) => writeFileSync(`${file}.bak`, 'x\n'), lost: 0 },
  ];
  for (const { name, spoil, lost } of cases) {
    const dir = join(t.testdir(), name.replaceAll(' ', '-'));
    const before = await open(t, dir, { ship: () => Promise.reject(new Error('away')) });
    await appendAll(before.journal, calls);
    await before.journal.close();
    spoil(join(dir, files(dir)[0] ?? ''));

    const { journal, shipped, errors } = await open(t, dir);
    await journal.flush();
    t.same(shipped(), calls, `${name}: all whole calls arrive`);
    t.equal(errors.length, lost > 0 ? 1 : 0);
    if (lost > 0) t.match(errors[0], { message: new RegExp(`^${lost} lines`) });
  }
});

t.test('tries again while the store takes nothing, and forgets nothing', async (t) => {
  const shipped: RecordedCall[] = [];
  const done = Promise.withResolvers<void>();
  let attempts = 0;
  const repeats: boolean[] = [];
  const ship = async (batch: CallBatch) => {
    attempts += 1;
    repeats.push(batch.mayRepeat);
    if (attempts <= 4) throw new Error(`attempt ${attempts}`);
    shipped.push(...readBatch(batch).calls);
    if (shipped.length === 20) done.resolve();
    return 0;
  };
  const { journal, errors } = await open(t, t.testdir(), { ship, shipIntervalMs: 1 });
  const calls = manyCalls(20);
  await appendAll(journal, calls);
  await done.promise;
  t.same(shipped, calls);
  t.equal(errors.length, 4, 'each failure is reported');
  t.same(repeats, [false, true, true, true, true], 'what failed may have been stored all the same');
});

t.test('what the store puts off comes again behind the others, and outlives the process', async (t) => {
  const dir = join(t.testdir(), 'journal');
  const [late, ...others] = manyCalls(4);
  if (!late) return;
  const taken: string[] = [];
  let isAway = true;
  const ship = async (batch: CallBatch): Promise<number> => {
    for (const call of readBatch(batch).calls) {
      if (isAway && call.traceId === late.traceId) batch.putOff?.(Buffer.from(toLine(call)));
      else taken.push(call.traceId);
    }
    return 0;
  };
  const { journal } = await open(t, dir, { ship });
  await appendAll(journal, [late, ...others.slice(0, 2)]);
  await journal.flush();
  t.same(
    taken,
    others.slice(0, 2).map((it) => it.traceId),
    'the others do not wait',
  );
  t.equal(journal.waitingBytes(), Buffer.byteLength(toLine(late)), 'and it is there once');
  await appendAll(journal, others.slice(2));
  await journal.flush();
  t.same(
    taken,
    others.map((it) => it.traceId),
  );
  await journal.close();

  isAway = false;
  const next = await open(t, dir, { ship });
  await next.journal.flush();
  t.ok(taken.includes(late.traceId));
  t.equal(next.journal.waitingBytes(), 0);
});

t.test('refuses calls beyond the bound of its disk, until some are shipped', async (t) => {
  const dir = t.testdir();
  let isAway = true;
  const { journal } = await open(t, dir, {
    bytesMax: 5_000,
    segmentBytesMax: 1_000,
    ship: async () => {
      if (isAway) throw new Error('away');
      return 0;
    },
  });
  let refused: unknown;
  let accepted = 0;
  while (!refused && accepted < 1_000) {
    await journal.append(recordedCall()).then(
      () => {
        accepted += 1;
      },
      (error) => {
        refused = error;
      },
    );
  }
  t.match(refused, { code: 'STATE_UNAVAILABLE', message: /5000 bytes/ });
  const held = () => files(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  t.ok(held() <= 5_000);
  await t.rejects(journal.append(recordedCall()), { code: 'STATE_UNAVAILABLE' });
  await t.rejects(journal.flush(), { message: 'away' });
  isAway = false;
  await journal.flush();
  await journal.append(recordedCall());
  t.ok(held() < 2_000, 'what was shipped is gone, but for the file that is written to');
});

t.test('a line that cannot be written is refused alone', async (t) => {
  const dir = t.testdir();
  const { journal, shipped } = await open(t, dir);
  const good = recordedCall();
  const bad: Partial<RecordedCall>[] = [
    { line: ownName('{"two":\n"lines"}') },
    { line: ownName('[]') },
    { line: ownName('') },
    { traceId: newId() },
    { traceId: '' },
  ];
  const results = await Promise.allSettled([
    journal.append(good),
    ...bad.map((fields) => journal.append(recordedCall(fields))),
  ]);
  t.match(results, [
    { status: 'fulfilled' },
    ...bad.map(() => ({ status: 'rejected', reason: { code: 'INTERNAL' } })),
  ]);
  await journal.flush();
  t.same(shipped(), [good]);
  await journal.close();
  await t.rejects(journal.append(good), { code: 'SHUTTING_DOWN' });
  rmSync(dir, { recursive: true });
});

t.test('a turn that brings many megabytes is written in several goes', async (t) => {
  const { journal, shipped } = await open(t, t.testdir());
  // Two of the short ones fill what is written at once; the long one is more than that.
  const lines = [150_000, 500_000].map((length) => JSON.stringify({ text: 'x'.repeat(length) }));
  const calls = Array.from({ length: 20 }, (_, at) =>
    recordedCall({ line: ownName(lines[at % 7 === 0 ? 1 : 0] ?? '') }),
  );
  const promises = calls.map((call) => journal.append(call));
  t.ok(new Set(promises).size > 1);
  await Promise.all(promises);
  await journal.flush();
  t.same(
    shipped().map((it) => it.traceId),
    calls.map((it) => it.traceId),
  );
});

t.test('survives a disk that is full', async (t) => {
  const dir = t.testdir();
  const child = startChild(t, 'full-journal.ts', dir, { fileBlocksMax: 100 });
  t.match(await child.line((it) => it.startsWith('refused ')), /^refused STATE_UNAVAILABLE/);
  t.match(await child.line((it) => it.startsWith('short ')), 'short accepted');
  await child.kill();
  const { journal, shipped, errors } = await open(t, dir);
  await journal.flush();
  const accepted = child.lines().flatMap((it) => (it.startsWith('accepted ') ? it.slice(9) : []));
  t.same(
    shipped().map((it) => it.traceId),
    accepted,
    'what was accepted is there, what was refused is not',
  );
  t.same(errors, []);
});
