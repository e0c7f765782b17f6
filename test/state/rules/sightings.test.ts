import t from 'tap';
import type { SensitiveRead } from '../../../src/core/history.ts';
import {
  createSightingLog,
  createSightingLogs,
  sightingsKeptMs,
} from '../../../src/state/rules/sightings.ts';

const readOf = (shingles: number, atMs = 0): SensitiveRead => ({
  kind: 'read',
  ...{ atMs, agentId: 'a', traceId: String(atMs), host: 'crm.example', classes: ['PII'] },
  shingles: Float64Array.from({ length: shingles }, (_, at) => at),
});

t.test('a log forgets a few long reads at a time', async (t) => {
  const log = createSightingLog();
  for (let atMs = 0; atMs < 20; atMs += 1) log.add(readOf(4_096, atMs));
  log.expire(2 * sightingsKeptMs);
  t.equal(log.all.length, 16);
  t.same(log.readsWith(0), log.all, 'the oldest went');
  for (let calls = 0; calls < 4; calls += 1) log.expire(2 * sightingsKeptMs);
  t.same([log.all, log.readsWith(0), log.hasReads], [[], [], false]);
});

t.test('what one read is known by is not forgotten with another one that has nearly the same', async (t) => {
  const log = createSightingLog();
  const reads = [2 ** 40, 2 ** 40 + 1, 2 ** 47].map((shingle, at) => ({
    ...readOf(0, at * sightingsKeptMs),
    shingles: Float64Array.of(shingle, 2 ** 20 + at),
  }));
  for (const read of reads) log.add(read);
  log.expire(sightingsKeptMs);
  t.same(log.readsWith(2 ** 40), []);
  t.same(log.readsWith(2 ** 20), []);
  t.same(log.readsWith(2 ** 40 + 1), [reads[1]]);
  t.same(log.readsWith(2 ** 20 + 2), [reads[2]]);
  log.expire(2 * sightingsKeptMs);
  t.same(log.readsWith(2 ** 40 + 1), []);
  t.same(log.readsWith(2 ** 47), [reads[2]]);
});

t.test('what tenants that do not call any more have left goes with the calls of others', async (t) => {
  const logs = createSightingLogs();
  const idle = ['b', 'c'].map((tenantId) => logs.open(tenantId));
  for (const log of idle) log.add(readOf(8));
  const own = logs.open('a');
  own.add(readOf(8, 1));
  for (let calls = 0; calls < 3; calls += 1) logs.expire('a', sightingsKeptMs);
  t.same(
    idle.map((it) => it.all),
    [[], []],
  );
  t.same(['a', 'b', 'c'].map(logs.find), [own, undefined, undefined]);
  t.equal(own.all.length, 1);
});

t.test('logs are kept of the tenants that were there last', async (t) => {
  const logs = createSightingLogs();
  const first = logs.open('first');
  for (let at = 0; at < 511; at += 1) logs.open(`t${at}`);
  t.equal(logs.open('first'), first);
  logs.open('one more');
  t.same([logs.find('first'), logs.find('t0')], [first, undefined]);
  t.ok(logs.find('t1'));
});
