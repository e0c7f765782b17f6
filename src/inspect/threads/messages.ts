/*
 * What the event loop and a reader thread tell each other. A thread has one job at a time. Everything is plain data; what a job is made of is
 * for the program of the thread to know.
 */

/** What a job is done with, as the thread's program makes tools of it: settings of a tenant, say. Told once to each thread. */
export interface ToolSpec {
  readonly id: number;
  readonly settings: unknown;
}

export interface JobBounds {
  readonly maxDecodedBytes: number;
  /** Of the processor, from when it is begun. */
  readonly timeoutMs: number;
}

export type ToThread =
  | {
      readonly name: string;
      readonly input: unknown;
      /** In which bytes of jobs lie from now on. */
      readonly memory: SharedArrayBuffer | undefined;
      readonly bounds: JobBounds;
      readonly toolsId: number;
      /** Where the thread does not know them yet. */
      readonly tools: ToolSpec | undefined;
    }
  | { readonly forget: readonly number[] };

/** `cpuMs` is all that the thread has taken of the processor. */
export type FromThread =
  | { readonly isReady: true; readonly cpuMs: number }
  | { readonly output: unknown; readonly cpuMs: number }
  /** A bug. What was thrown may quote the content, so only its kind and its places in the code are told. */
  | { readonly failure: { readonly name: string; readonly stack: string }; readonly cpuMs: number };
