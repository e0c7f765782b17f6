/*
 * Calls can be searched for what came back on them. Answers come after the trace of their call is written. So
 * the state keeps, beside the traces, which of them have scans with these facts.
 */

/** The facts of answers: orders to the agent were in them, they were withheld, or cut, or none came. */
export const answerFacts = ['injection', 'blocked', 'redacted', 'failed'] as const;
export type AnswerFact = (typeof answerFacts)[number];

/** Returns the facts of a scan. The embedded state says the same in SQL (`response_scans`). */
export function answerFactsOf(scan: string): readonly AnswerFact[] {
  const { injection, blocked, redacted, failure } = Object(JSON.parse(scan)) as Readonly<
    Record<string, unknown>
  >;
  const holds: Readonly<Record<AnswerFact, boolean>> = {
    injection: Object(injection).detected === true,
    blocked: Array.isArray(blocked) && blocked.length > 0,
    redacted: Array.isArray(redacted) && redacted.length > 0,
    failed: typeof failure === 'string',
  };
  return answerFacts.filter((it) => holds[it]);
}

/** The traces of one window that have scans with a fact. */
export interface AnsweredWindow {
  readonly startMs: number;
  readonly traceIds: ReadonlySet<string>;
}

export interface AnsweredSource {
  /** Yields the windows with such traces, newest first, from that of `newestMs` to that of `oldestMs`. */
  answered(
    fact: AnswerFact,
    newestMs: number,
    oldestMs: number,
  ): Iterable<AnsweredWindow> | AsyncIterable<AnsweredWindow>;
}
