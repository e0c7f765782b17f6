import { parentPort } from 'node:worker_threads';
import { threadCpuMs } from './cpu-time.ts';
import type { FromThread, JobBounds, ToThread } from './messages.ts';
import { packed, unpacked } from './shared-bytes.ts';

export interface Bounds {
  readonly maxDecodedBytes: number;
  readonly isOver: () => boolean;
}

/** What a thread can do. */
export interface Program<T> {
  /** Of settings that were told. */
  toolsOf(settings: unknown): T;
  run(name: string, input: unknown, tools: T, bounds: Bounds): unknown;
}

/** Engines of tenants with settings of their own share their tables, so that many fit; those that were not used for longest are made anew. */
const toolsMax = 64;

/** The thread's side: does one job after the other until the thread is ended. */
export function serveJobs<T>(program: Program<T>): void {
  const settingsOf = new Map<number, unknown>();
  const toolsOf = new Map<number, T>();

  function toolsFor(id: number): T {
    const known = toolsOf.get(id);
    const tools = known ?? program.toolsOf(settingsOf.get(id));
    toolsOf.delete(id);
    toolsOf.set(id, tools);
    const [oldest] = toolsOf.keys();
    if (toolsOf.size > toolsMax && oldest !== undefined) toolsOf.delete(oldest);
    return tools;
  }

  async function answer(message: Extract<ToThread, { name: string }>): Promise<FromThread> {
    const { name, input, bounds, toolsId, tools } = message;
    try {
      if (tools) settingsOf.set(tools.id, tools.settings);
      const output = await program.run(name, unpacked(input), toolsFor(toolsId), boundsOf(bounds));
      return { output: packed(output), cpuMs: threadCpuMs() };
    } catch (error) {
      const { name: kind, stack = '' } = error instanceof Error ? error : new Error();
      return {
        failure: { name: kind, stack: stack.match(/^ +at .*$/gm)?.join('\n') ?? '' },
        cpuMs: threadCpuMs(),
      };
    }
  }

  parentPort?.on('message', (message: ToThread) => {
    if ('forget' in message) {
      for (const id of message.forget) {
        settingsOf.delete(id);
        toolsOf.delete(id);
      }
    } else void answer(message).then((it) => parentPort?.postMessage(it));
  });
  parentPort?.postMessage({ isReady: true, cpuMs: threadCpuMs() } satisfies FromThread);
}

/** On a busy machine time passes in which nothing is read: that counts for nothing. */
function boundsOf({ maxDecodedBytes, timeoutMs }: JobBounds): Bounds {
  const startMs = performance.now();
  const startCpuMs = threadCpuMs();
  return {
    maxDecodedBytes,
    isOver: () => performance.now() - startMs > timeoutMs && threadCpuMs() - startCpuMs > timeoutMs,
  };
}
