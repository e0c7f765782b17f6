import { parentPort } from 'node:worker_threads';
import { RecentMap } from '../../util/recent-map.ts';
import { packOutput, unpackInput } from './crossing.ts';
import type { FromThread, ToThread } from './messages.ts';
import { type ReadingTime, readingTime } from './reading-time.ts';
import { workedMs } from './worked-ms.ts';

interface Bounds extends ReadingTime {
  readonly maxDecodedBytes: number;
}

/** What a thread's program can do. */
export interface Program<T> {
  /** Makes tools of settings that were sent. */
  toolsOf(settings: unknown): T;
  run(name: string, input: unknown, tools: T, bounds: Bounds): unknown;
}

/**
 * Bound on the tools that are kept. Engines of tenants share their tables, so many fit; the least recently
 * used are made anew.
 */
const toolsMax = 64;

/** Does one job after the other, in the thread, until the thread is ended. */
export function serveJobs<T>(program: Program<T>): void {
  const settingsOf = new Map<number, unknown>();
  const toolsOf = new RecentMap<number, T>(toolsMax);
  let memory = new SharedArrayBuffer(0);

  function toolsFor(id: number): T {
    const known = toolsOf.get(id);
    const tools = known ?? program.toolsOf(settingsOf.get(id));
    toolsOf.set(id, tools);
    return tools;
  }

  async function answer(message: Extract<ToThread, { name: string }>): Promise<void> {
    const { name, input, toolsId, tools } = message;
    const { maxDecodedBytes, timeoutMs } = message.bounds;
    memory = message.memory ?? memory;
    try {
      if (tools) settingsOf.set(tools.id, tools.settings);
      const toolsOfJob = toolsFor(toolsId);
      // Processor time counts, since time in which a busy machine gives no turn must not.
      const bounds = { maxDecodedBytes, ...readingTime(timeoutMs) };
      const found = await program.run(name, unpackInput(input, memory), toolsOfJob, bounds);
      const packed = packOutput(found, memory);
      tell({ packed, cpuMs: workedMs() }, [packed.bytes]);
    } catch (error) {
      const { name: kind, stack = '' } = error instanceof Error ? error : new Error();
      const places = stack.match(/^ +at .*$/gm)?.join('\n') ?? '';
      tell({ failure: { name: kind, stack: places }, cpuMs: workedMs() });
    }
  }

  parentPort?.on('message', (message: ToThread) => {
    if ('forget' in message) {
      for (const id of message.forget) {
        settingsOf.delete(id);
        toolsOf.delete(id);
      }
    } else void answer(message);
  });
  tell({ isReady: true, cpuMs: workedMs() });
}

const tell = (message: FromThread, transfer: ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, transfer);
