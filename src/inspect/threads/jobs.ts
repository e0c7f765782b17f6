import type { MaybePromise } from '../../util/maybe-promise.ts';
import { readAnswer, redactAnswer } from '../boundary/answer-jobs.ts';
import { cutAndRead, openBody, type ReadingTools, readBody, readHead } from '../read-body.ts';
import type { ReadBounds } from '../read-part.ts';

/**
 * The jobs of a reader thread, by name. They go from plain data to plain data and give the same result
 * anywhere.
 */
export const jobs = {
  head: readHead,
  body: readBody,
  cut: cutAndRead,
  open: openBody,
  answer: readAnswer,
  redact: redactAnswer,
} as const satisfies Readonly<
  Record<string, (input: never, tools: ReadingTools, bounds: ReadBounds) => unknown>
>;

export type JobName = keyof typeof jobs;
export type Input<N extends JobName> = Parameters<(typeof jobs)[N]>[0];
export type JobOutput<N extends JobName> = Awaited<ReturnType<(typeof jobs)[N]>>;

/** Returns the job of this name. */
export const jobOf = <N extends JobName>(name: N) =>
  jobs[name] as unknown as (
    input: Input<N>,
    tools: ReadingTools,
    bounds: ReadBounds,
  ) => MaybePromise<JobOutput<N>>;
