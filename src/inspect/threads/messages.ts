import type { PackedOutput } from './crossing.ts';

/*
 * Messages between the event loop and a reader thread, which has one job at a time. They are plain data; only
 * the program of the thread knows the input of its jobs.
 */

/** Settings of which a thread's program makes tools, such as a tenant's. Each thread gets them once. */
export interface ToolSpec {
  readonly id: number;
  readonly settings: unknown;
}

export interface JobBounds {
  readonly maxDecodedBytes: number;
  /** Processor time from the begin of the job. */
  readonly timeoutMs: number;
}

export type ToThread =
  | {
      readonly name: string;
      readonly input: unknown;
      /** Memory that holds the bytes of jobs from now on. */
      readonly memory: SharedArrayBuffer | undefined;
      readonly bounds: JobBounds;
      readonly toolsId: number;
      /** Tools that the thread does not know yet. */
      readonly tools: ToolSpec | undefined;
    }
  | { readonly forget: readonly number[] };

/** Messages from a thread; `cpuMs` is all processor time that it has taken. */
export type FromThread =
  | { readonly isReady: true; readonly cpuMs: number }
  | { readonly packed: PackedOutput; readonly cpuMs: number }
  /** A bug. What was thrown may quote content, so only its kind and its places in the code are sent. */
  | { readonly failure: { readonly name: string; readonly stack: string }; readonly cpuMs: number };
