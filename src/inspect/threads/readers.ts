import { crc32 } from 'node:zlib';
import { after, type MaybePromise } from '../../util/maybe-promise.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { tookTooLong } from '../decode/budget.ts';
import { blockFlags, outlineOf } from '../kernel/outline.ts';
import type { DetectorEngine } from '../match/engine.ts';
import type { ReadingTools } from '../read-body.ts';
import type { ReadBounds } from '../read-part.ts';
import { begunBytes, bodyBytesMin } from '../segments/known-beginning.ts';
import type { QueueOwner } from './fair-queue.ts';
import { type Input, type JobName, type JobOutput, jobOf } from './jobs.ts';
import type { ToolSpec } from './messages.ts';
import { unpackedFindings } from './packed-findings.ts';
import type { ReaderPool } from './reader-pool.ts';
import type { Lost } from './reader-thread.ts';
import { workDeadline } from './worked-ms.ts';

/*
 * Decides where something is read: small content on the event loop, other content in a thread. Small content
 * may still be expensive, such as a bomb, so the loop has little time and room for it. What exceeds them is
 * read anew in a thread.
 */

/**
 * Bound on content that is read on the loop, in bytes. Real content of this length takes 0.6 ms, at most 1.3;
 * a thread adds 0.15. See `bench/isolation.ts`.
 */
export const loopBytesMax = 16_384;
/** Bound on all decoded forms that are made on the loop, in bytes. */
const loopDecodedBytesMax = 128 * 1024;
const loopMsMax = 2;

/**
 * The time that a decoder may take on the loop, in milliseconds. Small content that takes longer was made for
 * that, since no bound interrupts a decoder. What its sender sends is read in threads for a while.
 */
const stallMsMax = 20;
const distrustedForMs = 60_000;
const distrustedMax = 4096;

const noWords: readonly string[] = [];

export interface Task {
  readonly tools: ReadingTools;
  /** The bounds from now on, for reading on the loop. */
  readonly bounds: ReadBounds;
  /** The time for reading in a thread, from the start there, in milliseconds. */
  readonly timeoutMs: number;
  readonly owner: QueueOwner;
  /** The length of the content in bytes; infinite where it is unknown. */
  readonly bytes: number;
  /** The content, of which samples tell whether it is read quickly; undefined where it is compressed. */
  readonly plain?: Buffer | undefined;
}

export interface Readers {
  /** Tells whether there are threads, so that nothing large need be done on the loop. */
  readonly hasThreads: boolean;
  /** Runs a job at once, or as soon as a thread has time. Rejects with GATEWAY_BUSY where too much waits. */
  run<N extends JobName>(name: N, input: Input<N>, task: Task): MaybePromise<JobOutput<N> | { lost: Lost }>;
}

/** Readers without threads, which read everything at once. */
export const onTheLoop: Readers = {
  hasThreads: false,
  run: (name, input, { tools, bounds }) => jobOf(name)(input, tools, bounds),
};

/**
 * Creates readers that read in the threads of a pool. `settingsOf` returns the settings that an engine was
 * made of, or undefined. Jobs with an engine without settings run on the loop.
 */
export function createReaders(
  pool: Pick<ReaderPool, 'run' | 'forget' | 'hasBegun' | 'beginning'>,
  settingsOf: (engine: DetectorEngine) => unknown,
): Readers {
  const specOf = toolSpecs(pool, settingsOf);
  /**
   * The owners whose content held up a decoder on the loop, with the time until which they are not trusted.
   */
  const distrusted = new RecentMap<string, number>(distrustedMax);

  async function inThread<N extends JobName>(
    name: N,
    input: Input<N>,
    { bounds: { maxDecodedBytes }, timeoutMs, owner, bytes }: Task,
    tools: ToolSpec,
  ): Promise<JobOutput<N> | { lost: Lost }> {
    const size = Number.isFinite(bytes) ? bytes : maxDecodedBytes;
    const job = { name, input, maxDecodedBytes, timeoutMs, tools, beginning: beginningIn(input) };
    const outcome = await pool.run(job, owner, size);
    return 'lost' in outcome ? outcome : unpackedFindings(outcome.output as JobOutput<N>);
  }

  /** Waits for the threads and reads in one of them. Where they do not begin, the event loop reads. */
  async function onceBegun<N extends JobName>(
    name: N,
    input: Input<N>,
    task: Task,
    spec: ToolSpec,
  ): Promise<JobOutput<N> | { lost: Lost }> {
    await pool.beginning;
    return pool.hasBegun ? inThread(name, input, task, spec) : jobOf(name)(input, task.tools, task.bounds);
  }

  return {
    hasThreads: true,
    run(name, input, task) {
      const { tools, bounds, bytes, owner } = task;
      const spec = specOf(tools);
      if (!spec) return jobOf(name)(input, tools, bounds);
      const isLarge = bytes > loopBytesMax || mayFillWindow(input);
      // A daemon serves as soon as it starts, and its threads take a second to be ready.
      if (!pool.hasBegun)
        return isLarge ? onceBegun(name, input, task, spec) : jobOf(name)(input, tools, bounds);
      const sender = `${owner.tenantId} ${owner.agentId}`;
      const isDistrusted = (distrusted.get(sender) ?? 0) > performance.now();
      if (isDistrusted || (isLarge && !isSoonRead(task))) return inThread(name, input, task, spec);
      const moment = forAMoment(task, () => distrusted.set(sender, performance.now() + distrustedForMs));
      // Looking up the known beginning of such content would take longer than reading it.
      return after(jobOf(name)(input, { ...tools, beginnings: undefined }, moment), (it) =>
        isWhole(it) && !moment.isOver() ? it : inThread(name, input, task, spec),
      );
    },
  };
}

/**
 * Returns a function that describes tools for threads. It returns undefined where an engine was made of no
 * settings.
 */
function toolSpecs(
  pool: Pick<ReaderPool, 'forget'>,
  settingsOf: (engine: DetectorEngine) => unknown,
): (tools: ReadingTools) => ToolSpec | undefined {
  const specs = new WeakMap<DetectorEngine, WeakMap<object, ToolSpec>>();
  const unused = new FinalizationRegistry<number>((id) => pool.forget([id]));
  let lastId = 0;
  return ({ engine, words }) => {
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
  };
}

/**
 * Returns a number for a body's beginning. Returns undefined for other input, and for bodies that are read
 * whole anyway.
 */
function beginningIn(input: object): number | undefined {
  if (!('body' in input) || !Buffer.isBuffer(input.body) || input.body.length < bodyBytesMin)
    return undefined;
  return crc32(input.body.subarray(0, begunBytes));
}

/**
 * Matches codings with windows of megabytes (RFC 7932, 9.1; RFC 8878, 3.1.1.1.2). Fourteen bytes fill a
 * window before the first byte comes out. That takes 40 ms, which no bound on the output shortens.
 */
const wideCoding = /\b(?:br|zstd)\b/i;

/** Tells whether a job takes off a coding that may fill a window of megabytes. */
const mayFillWindow = (input: object): boolean =>
  'contentEncoding' in input &&
  wideCoding.test(`${input.contentEncoding}`) &&
  !('plain' in input && input.plain);

/**
 * The greatest length at which prose is read in less than the half millisecond that a thread costs, in bytes.
 */
const quickBytesMax = 128 * 1024;
const bytesPerWord = 256;
const markedShareMax = 1 / 4;

/** The flags of blocks that have what words do not have, for each of the four blocks in a number. */
const marks = 0x01010101 * (blockFlags.digit | blockFlags.number | blockFlags.encoded | blockFlags.rhythm);
const isMarked = (blocks: number): boolean => (blocks & marks) !== 0;

/**
 * The length of each of the three samples that are looked at, in bytes. Outlining all of the content would
 * take as long as searching it.
 */
const sampleBytes = 4096;

/**
 * Tells whether nearly all content is words, without numbers, long tokens or the repetition that codes have.
 */
function isSoonRead({ bytes, plain }: Task): boolean {
  if (!plain || bytes > quickBytesMax) return false;
  const middle = (plain.length - sampleBytes) >> 1;
  const samples = [0, middle, plain.length - sampleBytes].map((at) => plain.subarray(at, at + sampleBytes));
  const mark = sampleBytes * markedShareMax;
  return samples.every((sample) => outlineOf(sample).blocks.filter(isMarked).length * bytesPerWord < mark);
}

/**
 * Returns the bounds for reading on the loop. They count processor time, since time in which a busy machine
 * gives no turn must not count.
 */
const forAMoment = ({ bounds: { maxDecodedBytes }, timeoutMs }: Task, onStall: () => void): ReadBounds => ({
  maxDecodedBytes: Math.min(maxDecodedBytes, loopDecodedBytesMax),
  isOver: workDeadline(Math.min(loopMsMax, timeoutMs)),
  // Only the decoder is timed, because a collection of garbage may stop any reading for as long.
  timed(decode) {
    const isStalled = workDeadline(stallMsMax);
    try {
      return decode();
    } finally {
      if (isStalled()) onStall();
    }
  },
});

/** Tells whether a job was done to its end. */
const isWhole = (output: object): boolean =>
  !('unreadable' in output && output.unreadable !== undefined) &&
  !('isOutOfTime' in output && output.isOutOfTime === true) &&
  !('left' in output && output.left === undefined);

/** Returns the result of a part whose reader thread was lost, which proves nothing about the content. */
export const lostReading = ({ lost }: { readonly lost: Lost }) => ({
  unreadable: lost === 'deadline' ? tookTooLong : 'its reader has ended before its end',
  isOutOfTime: true,
});
