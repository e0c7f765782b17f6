import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../../util/prepared.ts';
import { programModule } from '../../util/program-files.ts';
import type { FeedFormat } from './formats/index.ts';
import type { IndicatorSet } from './index/indicator-set.ts';
import type { HashKey } from './index/keyed-hash.ts';
import { FeedRefused } from './refused.ts';

export interface ThreadTask {
  readonly file: string;
  /** The number of bytes in the file before the feed. */
  readonly skipBytes: number;
  readonly format: FeedFormat;
  readonly key: HashKey;
  readonly maxBytes: number;
}

export type ThreadResult = { readonly set: IndicatorSet } | { readonly refused: string };

/** The limit of the thread's heap, in MB. The arrays of a set lie outside the heap. */
const heapMbMax = 512;

/**
 * Reads a feed in a thread of its own. A hundred megabytes take seconds of work, and no call shall wait for
 * that. Also, a stranger wrote the feed. Whatever it does to its reader, it does there, within a bound of
 * memory and time. Throws FeedRefused.
 */
export async function readFeedInThread(
  task: ThreadTask,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<IndicatorSet> {
  signal?.throwIfAborted();
  const source = programModule('risk/feeds/read-thread');
  const resourceLimits = { maxOldGenerationSizeMb: heapMbMax };
  const worker = new Worker(source, { workerData: task, resourceLimits, env: threadEnvironment() });
  const { promise, resolve, reject } = Promise.withResolvers<ThreadResult>();
  const refuse = (why: string, cause?: unknown) => reject(new FeedRefused(why, { cause }));
  const onAbort = () => refuse('Reading the feed was ended.');
  const timer = setTimeout(() => refuse('Reading the feed took too long.'), timeoutMs);
  signal?.addEventListener('abort', onAbort);
  worker.once('message', resolve);
  worker.once('error', (error) => refuse('Reading the feed failed.', error));
  worker.once('exit', () => refuse('Reading the feed ended without a result.'));
  try {
    const result = await promise;
    if ('refused' in result) throw new FeedRefused(result.refused);
    return result.set;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
