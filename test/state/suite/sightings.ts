import type { CreatedPrincipal, SeenSecrets, SensitiveRead, Sighting } from '../../../src/core/history.ts';
import { newId, newTraceId } from '../../../src/core/ids.ts';
import {
  readsOfTraceMax,
  shinglesMax,
  sightingsKeptMs,
  sightingsMax,
} from '../../../src/state/rules/sightings.ts';
import type { Store } from '../../../src/state/store.ts';
import { noonMs, pastMs } from '../records.ts';
import { admitted } from './history.ts';
import { admitRequest, ofScripts, type SuitePart } from './lab.ts';

/** More than Redis answers at once. */
const manyAtOnce = 100;

const common = () => ({ atMs: noonMs, agentId: newId(), traceId: newTraceId(pastMs) });
const readOf = (fields: Partial<SensitiveRead> = {}): SensitiveRead => ({
  kind: 'read',
  ...common(),
  host: 'docs.example.com',
  classes: ['PII'],
  shingles: Float64Array.of(1, 2 ** 48 - 1, 2 ** 40),
  ...fields,
});
const secretsOf = (...hashes: readonly string[]): SeenSecrets => ({ kind: 'secrets', ...common(), hashes });
const createdOf = (fields: Partial<CreatedPrincipal> = {}): CreatedPrincipal => ({
  kind: 'principal-created',
  ...common(),
  toolName: 'aws',
  operation: 'create_user',
  ...fields,
});

/** What was seen in a tenant, and may explain a later call. */
export const sightings: SuitePart = async (t, { store, hints, ...lab }) => {
  const ofItsScripts = ofScripts(t, hints);
  const other = hints.openNode ? await hints.openNode() : store;
  if (other !== store) t.teardown(() => other.close());

  /** A tenant, and what its calls are told of. */
  async function open() {
    const acme = await lab.tenant();
    const key = await acme.key();
    const seen = async (node = store, nowMs = noonMs) =>
      (await admitted(node, admitRequest(acme, key, { nowMs }))).sightings;
    const note = (...all: readonly Sighting[]) => {
      for (const it of all) store.noteSighting(acme.tenantId, it);
    };
    /** On the other node once this one was answered: what it has noted came before. */
    const everywhere = async (check: (node: Store) => Promise<unknown>) => {
      for (const node of [store, other]) await check(node);
    };
    return { acme, seen, note, everywhere };
  }

  await t.test('what was seen is answered to the next calls of the tenant, as it was', async (t) => {
    const [{ seen, note, everywhere }, foreign] = [await open(), await open()];
    t.match(await seen(), { all: [], hasReads: false });
    const noted: Sighting[] = [
      secretsOf('away:abc', 'github-token:-_'),
      createdOf({ operation: "x\n1-1 y\t{' OR 1=1 --\0\u2028", toolName: '__proto__' }),
      createdOf({ operation: '"]}, ✓ é \\', agentId: '', traceId: '' }),
      { kind: 'orders', ...common() },
    ];
    note(...noted);
    await everywhere(async (node) => t.match(await seen(node), { all: noted, hasReads: false }));
    const reads = [readOf({ classes: [] }), readOf({ host: '[::1]\n', classes: ['PHI', 'SECRETS'] })];
    note(...reads);
    await everywhere(async (node) => {
      const { all, hasReads } = await seen(node);
      t.same(all, [...noted, ...reads], 'oldest first');
      t.ok(hasReads);
      t.equal((await seen(node)).all.length, 6, 'as often as it is asked for');
      t.match(await foreign.seen(node), { all: [], hasReads: false }, 'not to another tenant');
    });
  });

  await t.test('reads are found by what they have left', async (t) => {
    const { seen, note, everywhere } = await open();
    const [one, two, empty] = [
      readOf({ shingles: Float64Array.of(7, 2 ** 48 - 1) }),
      readOf({ shingles: Float64Array.of(2 ** 48 - 1, 2 ** 32) }),
      readOf({ shingles: new Float64Array(0) }),
    ];
    note(one, two, empty);
    await everywhere(async (node) => {
      const { readsWith } = await seen(node);
      t.same(readsWith(2 ** 48 - 1), [one, two]);
      t.same(readsWith(7), [one]);
      t.same(readsWith(2 ** 32), [two]);
      t.same(readsWith(8), []);
    });
    // A piece of a larger array, as a shingler may answer it.
    const piece = readOf({ shingles: Float64Array.of(1, 2, 3, 4).subarray(1, 3) });
    note(piece);
    await everywhere(async (node) => {
      const { readsWith } = await seen(node);
      t.same(
        [1, 2, 3, 4].map((it) => readsWith(it).length),
        [0, 1, 1, 0],
      );
    });
  });

  await t.test('ten minutes later nobody knows of it', async (t) => {
    const { seen, note, everywhere } = await open();
    note(readOf({ shingles: Float64Array.of(5) }), createdOf({ atMs: noonMs + 1 }));
    await everywhere(async (node) => t.equal((await seen(node, noonMs + sightingsKeptMs - 1)).all.length, 2));
    await everywhere(async (node) => {
      const left = await seen(node, noonMs + sightingsKeptMs);
      t.match(left, { all: [{ kind: 'principal-created' }], hasReads: false });
      t.same(left.readsWith(5), []);
    });
    await everywhere(async (node) => t.same((await seen(node, noonMs + sightingsKeptMs + 1)).all, []));
  });

  await t.test('nor does a node that hears of it then', async (t) => {
    const { seen, note } = await open();
    note(createdOf(), createdOf({ atMs: noonMs + 1 }));
    const node = hints.openNode ? await hints.openNode() : store;
    if (node !== store) t.teardown(() => node.close());
    await seen();
    t.equal((await seen(node, noonMs + sightingsKeptMs)).all.length, 1);
  });

  await t.test('a node that was idle is told of all that it has missed', async (t) => {
    const { seen, note } = await open();
    await seen(other);
    const noted = Array.from({ length: manyAtOnce }, (_, at) => secretsOf(`away:${at}`));
    note(...noted);
    t.same((await seen()).all, noted);
    const answers = await Promise.all(Array.from({ length: 8 }, () => seen(other)));
    for (const { all } of answers) t.same(all, noted, 'each of the calls that ask at once');
  });

  await ofItsScripts('of each kind the last ones are kept, in their order', async (t) => {
    const { seen, note, everywhere } = await open();
    const further = 40;
    const noted = Array.from({ length: 2 * (sightingsMax + further) }, (_, at) =>
      at % 2 === 0 ? secretsOf(`away:${at}`) : readOf({ shingles: Float64Array.of(at, 1e9) }),
    );
    note(createdOf(), ...noted.slice(0, 300));
    await seen(other);
    note(...noted.slice(300));
    await everywhere(async (node) => {
      const { all, readsWith } = await seen(node);
      t.match(all[0], { kind: 'principal-created' }, 'other kinds push out nothing');
      t.same(all.slice(1), noted.slice(2 * further));
      t.equal(readsWith(1e9).length, sightingsMax);
      t.same(readsWith(2 * further - 1), [], 'and of those that went nothing is left');
      t.equal(readsWith(2 * further + 1).length, 1);
    });
  });

  await ofItsScripts(
    'who has most loses the oldest: nobody pushes out what others were answered',
    async (t) => {
      const { seen, note, everywhere } = await open();
      const { agentId } = common();
      const others = [readOf(), readOf({ agentId }), secretsOf('away:1')];
      const reported = Array.from({ length: sightingsMax + 8 }, (_, at) =>
        readOf({ agentId, host: '', shingles: Float64Array.of(at) }),
      );
      const secrets = Array.from({ length: sightingsMax }, (_, at) => ({
        ...secretsOf(`away:${at}`),
        agentId,
      }));
      note(...others, ...reported, ...secrets);
      await everywhere(async (node) => {
        const { all } = await seen(node);
        t.same(
          all,
          [...others, ...reported.slice(8), ...secrets.slice(1)],
          'nor what came through the gateway',
        );
      });
    },
  );

  await t.test(
    'of one trace all that came through the gateway is kept, and the last of what was reported',
    async (t) => {
      const { seen, note, everywhere } = await open();
      const it = common();
      const through = Array.from({ length: readsOfTraceMax + 3 }, (_, at) =>
        readOf({ ...it, shingles: Float64Array.of(1000 + at) }),
      );
      const reports = Array.from({ length: readsOfTraceMax + 3 }, (_, at) =>
        readOf({ ...it, host: '', shingles: Float64Array.of(at) }),
      );
      const ofOthers = readOf({ traceId: it.traceId });
      note(...through, ofOthers, ...reports);
      await everywhere(async (node) => {
        const { all, readsWith } = await seen(node);
        t.same(all, [...through, ofOthers, ...reports.slice(3)]);
        t.same(
          [2, 3].map((at) => readsWith(at).length),
          [0, 1],
        );
      });
    },
  );

  await ofItsScripts(
    'what is reported under other names pushes out nothing that came through the gateway',
    async (t) => {
      const { seen, note, everywhere } = await open();
      const through = readOf();
      const each = shinglesMax / 4;
      const reported = Array.from({ length: 8 }, (_, nth) =>
        readOf({
          host: '',
          agentId: newId(),
          shingles: Float64Array.from({ length: each }, (_, at) => nth * each + at),
        }),
      );
      const short = Array.from({ length: sightingsMax + 8 }, () => readOf({ host: '', agentId: newId() }));
      note(through, ...reported, ...short);
      await everywhere(async (node) => {
        const { all } = await seen(node);
        t.ok(all.some((it) => it.traceId === through.traceId));
        t.ok(all.length <= 1 + sightingsMax);
      });
    },
  );

  await ofItsScripts('long reads push out reads, and nothing else', async (t) => {
    const { seen, note, everywhere } = await open();
    const made = createdOf();
    const each = shinglesMax / 4;
    const reads = Array.from({ length: 5 }, (_, nth) =>
      readOf({ shingles: Float64Array.from({ length: each }, (_, at) => nth * each + at) }),
    );
    note(made, ...reads);
    await everywhere(async (node) => {
      const { all, readsWith } = await seen(node);
      const tracesOf = (them: readonly Sighting[]) => them.map((it) => it.traceId);
      t.same(tracesOf(all), tracesOf([made, ...reads.slice(1)]));
      t.same(tracesOf(readsWith(0)), []);
      t.same(tracesOf(readsWith(each)), tracesOf(reads.slice(1, 2)));
    });
  });
};
