import { threadId } from 'node:worker_threads';
import { serveJobs } from '../../../src/inspect/threads/serve-jobs.ts';

/** A reader thread for tests: what it is told to do stands in its input. */
interface Told {
  readonly text?: string;
  readonly bytes?: Buffer;
}

const order: string[] = [];

serveJobs<unknown>({
  toolsOf: (settings) => settings,
  run(name, input, tools, { isOver }) {
    const { text = '', bytes } = input as Told;
    order.push(text);
    switch (name) {
      case 'echo':
        return { text, bytes, tools, threadId, isBuffer: Buffer.isBuffer(bytes) };
      case 'order':
        return { order };
      case 'read until it is over': {
        while (!isOver());
        return { text: 'it was over' };
      }
      case 'never end': {
        // As one pattern or decoder might, which asks nobody for the time.
        for (;;);
      }
      case 'fill the memory': {
        const kept: string[][] = [];
        for (;;) kept.push(Array.from({ length: 100_000 }, (_, at) => `${at}${text}`));
      }
      case 'exit':
        return process.exit(3);
      case 'throw':
        throw new TypeError(text);
      case 'throw later':
        setImmediate(() => {
          throw new RangeError(text);
        });
        return new Promise(() => undefined);
      default:
        return {};
    }
  },
});
