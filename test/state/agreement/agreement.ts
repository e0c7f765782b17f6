import assert from 'node:assert/strict';
import { join } from 'node:path';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { newId } from '../../../src/core/ids.ts';
import { openEmbeddedStore } from '../../../src/state/embedded/store.ts';
import { Names } from '../../../src/state/redis/link/names.ts';
import { openRedisStore } from '../../../src/state/redis/store.ts';
import type { Store } from '../../../src/state/store.ts';
import { startRedis } from '../../support/redis.ts';
import { noonMs } from '../records.ts';

/*
 * Both drivers take the same random steps and must answer the same. The embedded driver asks `state/rules`, so that Lua is compared
 * with these rules. Times and ids are arguments of each step. A failure prints the seed with the smallest steps that differ;
 * `AGREEMENT_SEED=… AGREEMENT_RUNS=… node test/state/agreement.test.ts` looks elsewhere and longer.
 */
const seed = Number(process.env['AGREEMENT_SEED'] ?? 20_261_128);
const runsOf = (count: number): number => Number(process.env['AGREEMENT_RUNS'] ?? count);

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** The time between two steps: mostly a moment, at times hours or days, and now and then a clock that is set back. */
const gapMs = (longestMs: number) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.nat(2_000) },
    { weight: 4, arbitrary: fc.nat(2 * minuteMs) },
    { weight: 2, arbitrary: fc.nat(2 * hourMs) },
    { weight: 1, arbitrary: fc.nat(longestMs) },
    { weight: 1, arbitrary: fc.integer({ min: -2 * minuteMs, max: 0 }) },
  );

/** Names that both drivers are given in one case, and nobody else has. */
export interface CaseNames {
  readonly tenantId: string;
  readonly otherTenantId: string;
  /** A UUID, the same for the same number. */
  id(number: number): string;
}

function newNames(): CaseNames {
  const ids = new Map<number, string>();
  return {
    tenantId: `t-${newId()}`,
    otherTenantId: `o-${newId()}`,
    id(number) {
      const id = ids.get(number) ?? newId();
      ids.set(number, id);
      return id;
    },
  };
}

export type Side = 'embedded' | 'redis';

/** One driver in one case: takes a step and answers what it told. */
export type Taker<S> = (step: S, nowMs: number) => unknown;

export interface Agreement<S> {
  readonly steps: fc.Arbitrary<S>;
  readonly runs: number;
  readonly lengthMax?: number;
  /** The longest time between two steps; default 50 hours. */
  readonly longestMs?: number;
  /** Prepares a driver for one case. */
  begin(store: Store, names: CaseNames, side: Side): Promise<Taker<S>> | Taker<S>;
}

export interface Sides {
  readonly embedded: Store;
  readonly redis: Store;
  /** For a look at what Redis keeps. */
  readonly client: Redis;
  /** Names of the keys in Redis. */
  readonly names: Names;
}

const prefix = 'p:';

/** Both drivers, empty; undefined where the machine has no Redis. */
export async function openSides(t: Test): Promise<Sides | undefined> {
  const server = await startRedis(t, { dir: t.testdir({ redis: {} }) });
  if (!server) return undefined;
  const log = { warn: () => undefined };
  const redis = await openRedisStore({
    ...server.address,
    ...{ prefix, timeoutMs: 10_000, ca: undefined, log, clock: 'caller' },
  });
  t.teardown(() => redis.close());
  const { host, port } = server;
  const client = new Redis({ host, port });
  t.teardown(() => client.disconnect());
  const embedded = await openEmbeddedStore({ dir: join(t.testdirName, 'state') });
  t.teardown(() => embedded.close());
  return { embedded, redis, client, names: new Names(prefix) };
}

/** The answer, or what it was refused with. */
async function told(answer: () => unknown): Promise<unknown> {
  try {
    return plain(await answer());
  } catch (error) {
    const { code, message, extra } = error as Error & { code?: string; extra?: unknown };
    if (code === undefined || code === 'STATE_UNAVAILABLE') throw error;
    return { refused: code, message, extra };
  }
}

/** Without what only the driver itself may read. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null, (name, it) => {
      if (name === 'nextCursor') return it === null ? null : 'more';
      if (it instanceof Set) return [...it];
      if (it instanceof Map) return [...it];
      return it;
    }),
  );

/** Lets both drivers take the same steps; throws where they answer differently. */
export async function agree<S>(
  t: Test,
  { embedded, redis }: Sides,
  { steps, runs, lengthMax = 25, longestMs = 50 * hourMs, begin }: Agreement<S>,
): Promise<void> {
  t.comment(`seed ${seed}, ${runsOf(runs)} runs`);
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(gapMs(longestMs), steps), { minLength: 1, maxLength: lengthMax, size: 'max' }),
      async (sequence) => {
        const names = newNames();
        const takers = [
          await begin(embedded, names, 'embedded'),
          await begin(redis, names, 'redis'),
        ] as const;
        let nowMs = noonMs;
        for (const [gap, step] of sequence) {
          nowMs += gap;
          const answers = [];
          for (const take of takers) answers.push(await told(() => take(step, nowMs)));
          assert.deepEqual(answers[1], answers[0], `Redis answers ${JSON.stringify(step)} differently`);
          compared += 1;
        }
      },
    ),
    { seed, numRuns: runsOf(runs) },
  );
  t.ok(compared >= runsOf(runs), `${compared} answers were the same`);
}
