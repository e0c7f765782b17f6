import type { Band, Charge, Decision } from '../../core/call.ts';
import type { TrustMark } from '../../core/history.ts';
import type { SafeName } from '../../core/safe-name.ts';
import type { AnswerFact } from '../traces/answer-facts.ts';
import type { StatCounts, StatInterval } from '../traces/stats.ts';
import type { Page, Paged } from './page.ts';

/** Keeps the traces of calls and the counts that are made of them. */
export interface TraceStore {
  /**
   * Notes the end of a call before its batch is stored, for the next `admit`. A new destination is then
   * known, and budgets get back what a refused call charged. It is called once a call, and never throws.
   * `recordCalls` makes it durable.
   */
  noteCall(call: RecordedCall): void;
  /**
   * Stores a batch of finished calls: all of it or nothing, but for lines that it puts off. Traces become
   * findable, and counters of agents grow. Destinations of calls that were let out (ALLOW, SANITIZE) become
   * known. Budgets get back the charges of calls that were not let out. Storing the same calls again, then
   * marked `mayRepeat`, changes nothing. Returns how many lines are not whole and were left out.
   */
  recordCalls(batch: CallBatch): Promise<number>;
  /** Returns the trace as JSON text; undefined where there is none, or the id is no UUID of version 7. */
  traceById(tenantId: string, traceId: string): Promise<string | undefined>;
  /**
   * Lists traces as JSON texts, newest first. It looks at a bounded number, so `nextCursor` may stand beside
   * few items or none. Nothing on a page comes again on a later one. A late trace with an older id is on the
   * pages to come.
   */
  listTraces(tenantId: string, filter: TraceFilter, page: Page): Promise<Paged<string>>;
  /**
   * Yields all traces of the filter in small batches, some of them empty, each read when asked for. It holds
   * at most one batch and one second of traces.
   */
  exportTraces(tenantId: string, filter: TraceFilter): AsyncIterable<readonly string[]>;
  /**
   * Returns a bounded part of the traces that became findable since `position` on any node, in that order,
   * and the next position. Without a position it returns the present one and no traces.
   */
  tracesSince(tenantId: string, position: string | undefined): Promise<Arrivals>;
  /**
   * Returns counts of all calls of the tenant, refused ones included, in ordered buckets. Buckets begin from
   * `fromMs`, inclusive, to `beforeMs`, exclusive; empty ones are left out. Counts are recorded with the
   * traces, and as exactly. Minutes are kept for two days, hours for sixty, days as long as traces. With
   * `only` it returns the counts of that dimension alone, which costs far less for many buckets.
   */
  callStats(
    tenantId: string,
    interval: StatInterval,
    fromMs: number,
    beforeMs: number,
    only?: 'decision',
  ): Promise<readonly StatBucket[]>;
  /**
   * Keeps the scan of a call's answer as JSON. Rejects with CONFLICT beyond 16 a trace. Returns false if
   * there is no trace.
   */
  addResponseScan(tenantId: string, traceId: string, scan: string): Promise<boolean>;
  responseScansOf(tenantId: string, traceId: string): Promise<readonly string[]>;
  /**
   * Sets how long the traces of each tenant are kept; before the first call there is no limit. Older traces
   * are no longer returned, and go with their scans and counts.
   */
  keepTraces(keptMsOf: (tenantId: string) => number): Promise<void>;
}

export interface Arrivals {
  /** The traces as JSON texts. */
  readonly traces: readonly string[];
  readonly position: string;
  /** Whether there are more already. */
  readonly hasMore: boolean;
  /** Whether some traces are left out, because too many came or the position is too old. */
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
  /** The first time of the calls, inclusive. `beforeMs` is exclusive. */
  readonly fromMs?: number;
  readonly beforeMs?: number;
  /** A text anywhere in the trace, whatever its case. */
  readonly text?: string;
}

/**
 * A finished call with its trace. Agent, time and decision equal those in the trace: searches go by what was
 * counted of them.
 */
export interface RecordedCall {
  /** A UUID of version 7: traces are looked up by the time in it. */
  readonly traceId: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly keyId: string;
  readonly atMs: number;
  readonly decision: Decision;
  /**
   * What `admit` made of the call: admitted and counted, blocked by the allowlist, over a rate, or refused.
   */
  readonly outcome: 'call' | 'blocked' | 'limited' | 'refused';
  readonly destination: SafeName;
  /** The size class of the body (`sizeClassOf` of `history.ts`); absent where there is no body. */
  readonly sizeClass?: number;
  /**
   * Names that `admit` found new and that the call has touched, since it was let out. Absent if there are
   * none.
   */
  readonly names?: readonly SafeName[];
  /** The losses of trust by this call; absent where there are none. */
  readonly marks?: readonly TrustMark[];
  /**
   * The charges to budgets, which are given back where the call was not let out. Absent where there are none.
   */
  readonly charges?: readonly Charge[];
  /**
   * The name of the stored credential that goes with the call. Absent where the agent's own goes, or none
   * does.
   */
  readonly credential?: string;
  /** The trace as JSON text, one object on one line. */
  readonly line: SafeName;
}

/** Calls in bulk, as the journal has them. Taking them one by one would cost more than storing them. */
export interface CallBatch {
  /**
   * Whole lines of `toLine` (`journal/line.ts`). The driver may take the memory away, for example to a
   * thread.
   */
  readonly lines: Uint8Array<ArrayBuffer>;
  /**
   * Whether some calls may have been given to the store before. Where it is false, the store need not look
   * for them.
   */
  readonly mayRepeat: boolean;
  /**
   * Takes back lines that the state cannot take now although it takes others. They come again in a later
   * batch.
   */
  readonly putOff?: (lines: Uint8Array) => void;
}
