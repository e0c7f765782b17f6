import { after, type MaybePromise } from '../../util/maybe-promise.ts';
import { blockFlags, outlineOf } from '../kernel/outline.ts';
import type { DetectorEngine } from '../match/engine.ts';
import type { ReadingTools } from '../read-body.ts';
import type { ReadBounds } from '../read-part.ts';
import type { QueueOwner } from './fair-queue.ts';
import { type Input, type JobName, type JobOutput, jobOf } from './jobs.ts';
import type { ToolSpec } from './messages.ts';
import { unpackedFindings } from './packed-findings.ts';
import type { ReaderPool } from './reader-pool.ts';
import type { Lost } from './reader-thread.ts';
import { workDeadline } from './worked-ms.ts';

/*
 * Where something is read: on the event loop what is small, in a thread what is not. What looks small may be dear all the same, as a bomb is:
 * so the loop gives it a moment and some room, and what does not come to its end with that is read anew in a thread.
 */

/** Longer contents are read in threads. Real ones of this length take 0.6 ms here, 1.3 at most; a thread adds 0.15 to that. See `bench/isolation.ts`. */
export const loopBytesMax = 16_384;
/** Of what is read on the loop, in all forms. */
const loopDecodedBytesMax = 128 * 1024;
const loopMsMax = 2;

const noWords: readonly string[] = [];

export interface Task {
  readonly tools: ReadingTools;
  /** From now on, where it is read at once. */
  readonly bounds: ReadBounds;
  /** In a thread, from when it begins there. */
  readonly timeoutMs: number;
  readonly owner: QueueOwner;
  /** Of what is read; infinite where nobody knows. */
  readonly bytes: number;
  /** What is read, where it is not compressed: a look at it may tell that it is soon read. */
  readonly plain?: Buffer | undefined;
}

export interface Readers {
  /** There are threads, so nothing large is to be done on the loop. */
  readonly hasThreads: boolean;
  /** At once, or as soon as a thread has time. Rejects with GATEWAY_BUSY where too much waits. */
  run<N extends JobName>(name: N, input: Input<N>, task: Task): MaybePromise<JobOutput<N> | { lost: Lost }>;
}

/** Reads everything at once. */
export const onTheLoop: Readers = {
  hasThreads: false,
  run: (name, input, { tools, bounds }) => jobOf(name)(input, tools, bounds),
};

/** Reads in the threads of a pool. `settingsOf` tells of what an engine was made; what others read with is read on the loop. */
export function createReaders(
  pool: Pick<ReaderPool, 'run' | 'forget' | 'hasBegun'>,
  settingsOf: (engine: DetectorEngine) => unknown,
): Readers {
  const specs = new WeakMap<DetectorEngine, WeakMap<object, ToolSpec>>();
  const unused = new FinalizationRegistry<number>((id) => pool.forget([id]));
  let lastId = 0;

  function specOf({ engine, words }: ReadingTools): ToolSpec | undefined {
    const own = specs.get(engine) ?? new WeakMap();
    const known = own.get(words ?? noWords);
    if (known) return known;
    const settings = settingsOf(engine);
    if (settings === undefined) return undefined;
    lastId += 1;
    const spec = { id: lastId, settings: { settings, words } };
    specs.set(engine, own.set(words ?? noWords, spec));
    unused.register(engine, lastId);
    if (words) unused.register(words, lastId);
    return spec;
  }

  async function inThread<N extends JobName>(
    name: N,
    input: Input<N>,
    { bounds: { maxDecodedBytes }, timeoutMs, owner, bytes }: Task,
    tools: ToolSpec,
  ): Promise<JobOutput<N> | { lost: Lost }> {
    const size = Number.isFinite(bytes) ? bytes : maxDecodedBytes;
    const outcome = await pool.run({ name, input, maxDecodedBytes, timeoutMs, tools }, owner, size);
    return 'lost' in outcome ? outcome : unpackedFindings(outcome.output as JobOutput<N>);
  }

  return {
    hasThreads: true,
    run(name, input, task) {
      const { tools, bounds, bytes } = task;
      const spec = specOf(tools);
      // A daemon that starts serves at once, and its threads take a second to begin.
      if (!spec || !pool.hasBegun) return jobOf(name)(input, tools, bounds);
      if (bytes > loopBytesMax && !isSoonRead(task)) return inThread(name, input, task, spec);
      const moment = forAMoment(task);
      // What is soon read is read in less time than its beginning is looked up.
      return after(jobOf(name)(input, { ...tools, beginnings: undefined }, moment), (it) =>
        isWhole(it) && !moment.isOver() ? it : inThread(name, input, task, spec),
      );
    },
  };
}

/** A thread costs half a millisecond: prose of this length is read in less. */
const quickBytesMax = 128 * 1024;
const bytesPerWord = 256;
const markedShareMax = 1 / 4;

/** What words do not have, of any of four blocks. */
const marks = 0x01010101 * (blockFlags.digit | blockFlags.number | blockFlags.encoded | blockFlags.rhythm);
const isMarked = (blocks: number): boolean => (blocks & marks) !== 0;

/** Looked at in three places: to look at all of it would take as long as to search it. */
const sampleBytes = 4096;

/** Whether nearly all of a content is words: no numbers, no long tokens, nothing that repeats itself as codes do. */
function isSoonRead({ bytes, plain }: Task): boolean {
  if (!plain || bytes > quickBytesMax) return false;
  const middle = (plain.length - sampleBytes) >> 1;
  const samples = [0, middle, plain.length - sampleBytes].map((at) => plain.subarray(at, at + sampleBytes));
  const mark = sampleBytes * markedShareMax;
  return samples.every((sample) => outlineOf(sample).blocks.filter(isMarked).length * bytesPerWord < mark);
}

/** On a busy machine time passes in which nothing is read: that counts for nothing. */
const forAMoment = ({ bounds: { maxDecodedBytes }, timeoutMs }: Task): ReadBounds => ({
  maxDecodedBytes: Math.min(maxDecodedBytes, loopDecodedBytesMax),
  isOver: workDeadline(Math.min(loopMsMax, timeoutMs)),
});

/** It was done to its end. */
const isWhole = (output: object): boolean =>
  !('unreadable' in output && output.unreadable !== undefined) &&
  !('isOutOfTime' in output && output.isOutOfTime === true) &&
  !('left' in output && output.left === undefined);

/** What is known of a part whose reader was lost. */
export const lostReading = ({ lost }: { readonly lost: Lost }) => ({
  unreadable: lost === 'deadline' ? 'reading took too long' : 'its reader has ended before its end',
  isOutOfTime: true,
});
