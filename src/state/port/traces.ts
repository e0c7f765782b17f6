import type { Band, Charge, Decision } from '../../core/call.ts';
import type { TrustMark } from '../../core/history.ts';
import type { SafeName } from '../../core/safe-name.ts';
import type { AnswerFact } from '../traces/answer-facts.ts';
import type { StatCounts, StatInterval } from '../traces/stats.ts';
import type { Page, Paged } from './page.ts';

/** What happened. */
export interface TraceStore {
  /**
   * Notes the end of a call before its batch is stored. The next `admit` knows a new destination, and budgets
   * get back what a refused call charged. It is called once a call, and never throws. `recordCalls` makes it
   * last.
   */
  noteCall(call: RecordedCall): void;
  /**
   * Takes a batch of finished calls, all of it or nothing. Traces become findable, and counters of agents
   * grow. Destinations of calls that were let out (ALLOW, SANITIZE) become known. Budgets have back what
   * calls charged that were not let out. Applying the same calls again, then marked `mayRepeat`, changes
   * nothing. Answers how many lines are not whole and were left out.
   */
  recordCalls(batch: CallBatch): Promise<number>;
  /** Returns the trace as JSON text; undefined for what is no UUID of version 7. */
  traceById(tenantId: string, traceId: string): Promise<string | undefined>;
  /**
   * Traces as JSON texts, newest first. It looks at a bounded number, so `nextCursor` may stand beside few
   * items or none. Nothing on a page comes again on a later one; a late trace with an older id is on the
   * pages to come.
   */
  listTraces(tenantId: string, filter: TraceFilter, page: Page): Promise<Paged<string>>;
  /**
   * All traces of the filter in small batches, some of them empty, each read when asked for. At most one
   * batch and one second of traces are held.
   */
  exportTraces(tenantId: string, filter: TraceFilter): AsyncIterable<readonly string[]>;
  /**
   * Returns a bounded part of the traces that became findable since `position` on any node, in that order,
   * and the next position. Without a position it answers the present one and no traces.
   */
  tracesSince(tenantId: string, position: string | undefined): Promise<Arrivals>;
  /**
   * Returns counts of all calls of the tenant, refused ones included, in ordered buckets. They begin from
   * `fromMs`, inclusive, to `beforeMs`, exclusive, and are not empty. Recorded with the traces, and as
   * exactly. Minutes are kept for two days, hours for sixty, days as long as traces. With `only` the counts
   * of that dimension alone, which many buckets cost far less.
   */
  callStats(
    tenantId: string,
    interval: StatInterval,
    fromMs: number,
    beforeMs: number,
    only?: 'decision',
  ): Promise<readonly StatBucket[]>;
  /** Keeps findings in a call's answer as JSON, at most 16 a trace (CONFLICT). False if there is no trace. */
  addResponseScan(tenantId: string, traceId: string, scan: string): Promise<boolean>;
  responseScansOf(tenantId: string, traceId: string): Promise<readonly string[]>;
  /**
   * Sets how long the traces of each tenant are kept; before that there is no end. Older ones are no longer
   * answered, and go with their scans and counts.
   */
  keepTraces(keptMsOf: (tenantId: string) => number): Promise<void>;
}

export interface Arrivals {
  /** JSON texts. */
  readonly traces: readonly string[];
  readonly position: string;
  /** There is more already. */
  readonly hasMore: boolean;
  /** Some came since that are not told of: too many came, or whoever asks has waited too long. */
  readonly hasGap: boolean;
}

export interface StatBucket {
  readonly startMs: number;
  readonly counts: StatCounts;
}

export interface TraceFilter {
  readonly agentId?: string;
  readonly toolName?: string;
  readonly operation?: string;
  readonly decision?: Decision;
  readonly reason?: string;
  readonly band?: Band;
  readonly dataClass?: string;
  readonly tag?: string;
  /** A fact of an answer to the call. */
  readonly answer?: AnswerFact;
  /** From, inclusive, to `beforeMs`, exclusive. */
  readonly fromMs?: number;
  readonly beforeMs?: number;
  /** Case-insensitive, anywhere in the trace. */
  readonly text?: string;
}

/** Agent, time and decision are those that its trace tells: searches go by what was counted of them. */
export interface RecordedCall {
  /** A UUID of version 7: traces are looked up by the time in it. */
  readonly traceId: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly keyId: string;
  readonly atMs: number;
  readonly decision: Decision;
  /** The answer of `admit`: admitted and counted, blocked by the allowlist, over a rate, or refused. */
  readonly outcome: 'call' | 'blocked' | 'limited' | 'refused';
  readonly destination: SafeName;
  /** The size class of the body (`sizeClassOf` of `history.ts`); absent where there is none. */
  readonly sizeClass?: number;
  /** Names that `admit` called new and a call that was let out has touched. Absent if there are none. */
  readonly names?: readonly SafeName[];
  /** Losses of trust by this call; absent where there are none. */
  readonly marks?: readonly TrustMark[];
  /** Charges to budgets, given back where the call was not let out; absent where there are none. */
  readonly charges?: readonly Charge[];
  /** Names the stored credential that goes with it. Absent where the agent's own goes, or nothing does. */
  readonly credential?: string;
  /** The trace as JSON text: one object, one line. */
  readonly line: SafeName;
}

/** Calls in bulk, as the journal has them: taking them one by one costs more than storing them. */
export interface CallBatch {
  /** Whole lines of `toLine` (`journal/line.ts`). The driver may take the memory away, say to a thread. */
  readonly lines: Uint8Array<ArrayBuffer>;
  /** Some may have been given to the store before. Where it is false the store need not look. */
  readonly mayRepeat: boolean;
}
