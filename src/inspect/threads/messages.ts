import type { PackedOutput } from './crossing.ts';

/*
 * Describes the messages between the event loop and a reader thread, which has one job at a time. They are
 * plain data. Only the program of the thread knows the input of its jobs.
 */

/**
 * Settings of which a thread's program makes tools, such as a tenant's settings. Each thread gets them once.
 */
export interface ToolSpec {
  readonly id: number;
  readonly settings: unknown;
}

export interface JobBounds {
  readonly maxDecodedBytes: number;
  /** Bound on the processor time from the beginning of the job, in milliseconds. */
  readonly timeoutMs: number;
}

export type ToThread =
  | {
      readonly name: string;
      readonly input: unknown;
      /** The memory that holds the bytes of jobs from now on; undefined where it stays the same. */
      readonly memory: SharedArrayBuffer | undefined;
      readonly bounds: JobBounds;
      readonly toolsId: number;
      /** The settings of the job's tools; undefined where the thread has them already. */
      readonly tools: ToolSpec | undefined;
    }
  | { readonly forget: readonly number[] };

/** A message from a thread. `cpuMs` is all processor time that the thread has taken, in milliseconds. */
export type FromThread =
  | { readonly isReady: true; readonly cpuMs: number }
  | { readonly packed: PackedOutput; readonly cpuMs: number }
  /** A bug. What was thrown may quote content, so only its kind and its places in the code are sent. */
  | { readonly failure: { readonly name: string; readonly stack: string }; readonly cpuMs: number };
