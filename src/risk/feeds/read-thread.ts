import { createReadStream } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { IndicatorSet } from './index/indicator-set.ts';
import { readFeed } from './read-feed.ts';
import type { ThreadResult, ThreadTask } from './read-in-thread.ts';
import { FeedRefused } from './refused.ts';

/* The thread that `readFeedInThread` starts. It reads one feed. */
const { file, skipBytes, ...options } = workerData as ThreadTask;

const chunkBytes = 256 * 1024;

// A message of a thread that ends by itself can be lost, so this one stays until it is terminated.
parentPort?.ref();

try {
  const chunks = createReadStream(file, { start: skipBytes, highWaterMark: chunkBytes });
  const set = await readFeed(chunks, options);
  parentPort?.postMessage({ set } satisfies ThreadResult, memoryOf(set));
} catch (error) {
  if (!(error instanceof FeedRefused)) throw error;
  parentPort?.postMessage({ refused: error.message } satisfies ThreadResult);
}

/** Returns the buffers that are transferred instead of copied. */
function memoryOf({ entries, hosts, urls, urlHosts, ipv4, ipv6 }: IndicatorSet): ArrayBuffer[] {
  const arrays = [entries, hosts, urls, { urlHosts }, ipv4, ipv6].flatMap((part) => Object.values(part));
  return arrays.filter((it) => ArrayBuffer.isView(it)).map((it) => it.buffer as ArrayBuffer);
}
