import { isMarkedAsUntransferable } from 'node:worker_threads';
import type { TrustMark } from '../../../core/history.ts';
import { timeOfTraceId } from '../../../core/ids.ts';
import { defaultTrustTerms } from '../../rules/trust.ts';
import type { Arrivals, CallBatch, Page, Paged, TraceFilter, TrustTerms } from '../../store.ts';
import type { AnsweredWindow, AnswerFact } from '../../traces/answer-facts.ts';
import { findTrace, traceLines } from '../../traces/lines.ts';
import { exportTraces, listTraces, type TraceSource } from '../../traces/list.ts';
import type { StatInterval } from '../../traces/stats.ts';
import { type BudgetReader, createBudgetReader } from '../counts/budgets.ts';
import { type CounterReader, createCounterReader } from '../counts/counters.ts';
import { createHistoryReader, type HistoryReader } from '../counts/history.ts';
import { createStatReader, type StatReader, statsRemovedMax } from '../counts/stats.ts';
import { createDestinations, type Destinations } from '../destinations.ts';
import { tracesMigrations } from '../file/migrations.ts';
import { openDatabase, openRaw } from '../sqlite.ts';
import { createTenantsOf } from '../tenants-of.ts';
import { type ChunkReader, createChunkReader } from './traces-reader.ts';
import { removedMax } from './traces-removal.ts';
import { TracesWriter } from './traces-writer.ts';

/**
 * The size of a page of the database. Half a megabyte in such pages takes fewer writes and costs half as much
 * as in SQLite's 4 KB.
 */
const pageBytes = 32_768;
/** The limit of chunks in one answer of `since`: four megabytes at most. */
const arrivalsMax = 8;

/** Reads `traces.db` here, and has a thread write it: traces, destinations, counts, budgets, histories. */
export class Traces {
  readonly stats: StatReader;
  readonly history: HistoryReader;
  readonly budgets: BudgetReader;
  readonly counters: CounterReader;
  readonly destinations: Destinations;
  readonly #db;
  readonly #chunks: ChunkReader;
  readonly #tracedTenants;
  readonly #writer: TracesWriter;
  readonly #answered: Answered;
  #terms = defaultTrustTerms;

  /**
   * Opens the database. `answered` is asked in searches for facts of answers, which lie in another database.
   */
  constructor(file: string, answered: Answered) {
    this.#answered = answered;
    setPageSize(file);
    this.#db = openDatabase(file, { synchronous: 'NORMAL', migrations: tracesMigrations });
    this.#chunks = createChunkReader(this.#db);
    this.#tracedTenants = createTenantsOf(this.#db, 'trace_chunks');
    this.destinations = createDestinations(this.#db);
    this.counters = createCounterReader(this.#db);
    this.budgets = createBudgetReader(this.#db);
    this.history = createHistoryReader(this.#db);
    this.stats = createStatReader(this.#db);
    this.#writer = new TracesWriter(file);
  }

  /** Tells whether the last batch was refused. */
  isFailing(): boolean {
    return this.#writer.isFailing;
  }

  /** Writes a batch in one transaction: see `Store.recordCalls`. */
  record({ lines, mayRepeat }: CallBatch): Promise<number> {
    const { buffer } = lines;
    // A buffer of Node's pool cannot be transferred, so it is copied.
    return this.#writer.ask(
      { lines, mayRepeat, terms: this.#terms },
      isMarkedAsUntransferable(buffer) ? [] : [buffer],
    );
  }

  /** Returns the tenants that have traces, or counts of them. */
  tenants(): string[] {
    return [...new Set([...this.#tracedTenants(), ...this.stats.tenants()])];
  }

  /** Removes traces from before a time. Those in one chunk with younger ones stay as long as these. */
  async removeBefore(tenantId: string, beforeMs: number): Promise<void> {
    // Batches get their turn between two removals.
    while ((await this.#writer.ask({ tenantId, beforeMs })) === removedMax);
  }

  async removeStatsBefore(statsOf: string, interval: StatInterval, beforeMs: number): Promise<void> {
    while ((await this.#writer.ask({ statsOf, interval, beforeMs })) === statsRemovedMax);
  }

  /** Forgets agents that have not called since a time. */
  async forgetIdle(idleSinceMs: number): Promise<void> {
    await this.#writer.ask({ idleSinceMs });
  }

  /** Forgets the use of removed keys. It never rejects: what stays takes room, and nobody finds it. */
  async forgetKeys(keyIds: readonly string[]): Promise<void> {
    await this.#writer.ask({ keyIds }).catch(() => undefined);
  }

  /** Writes a mark against the agent; null removes all of its marks. */
  async markTrust(agentId: string, mark: TrustMark | null): Promise<void> {
    await this.#writer.ask({ agentId, mark, terms: this.#terms });
  }

  restoreTrust(next: TrustTerms): void {
    this.#terms = next;
  }

  byId(tenantId: string, traceId: string): string | undefined {
    const ms = timeOfTraceId(traceId);
    if (ms === undefined) return undefined;
    for (const lines of this.#chunks.between(tenantId, ms, ms)) {
      const trace = findTrace(lines, traceId);
      if (trace !== undefined) return trace;
    }
    return undefined;
  }

  /** Returns the traces that became findable since a position: see `Store.tracesSince`. */
  since(tenantId: string, position: string | undefined): Arrivals {
    const last = this.#chunks.lastId();
    const after = position === undefined ? last : Number(position);
    // The position is wrong, or comes from before all chunks were removed: their numbers then begin anew.
    if (!(after <= last)) return { traces: [], position: String(last), hasMore: false, hasGap: true };
    const found = this.#chunks.stored(tenantId, after, last, arrivalsMax);
    const hasMore = found.length === arrivalsMax;
    const traces = found.flatMap(({ lines }) => [...traceLines(lines)].map((it) => it.read()));
    const reached = hasMore ? (found.at(-1)?.chunkId ?? last) : last;
    return { traces, position: String(reached), hasMore, hasGap: false };
  }

  list(tenantId: string, filter: TraceFilter, page: Page): Promise<Paged<string>> {
    return listTraces(this.#sourceOf(tenantId), filter, page);
  }

  export(tenantId: string, filter: TraceFilter): AsyncIterable<readonly string[]> {
    return exportTraces(this.#sourceOf(tenantId), filter);
  }

  #sourceOf(tenantId: string): TraceSource {
    return sourceOf(this.#chunks, this.stats, this.#answered, tenantId);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#db.close();
  }
}

type Answered = (
  tenantId: string,
  fact: AnswerFact,
  newestMs: number,
  oldestMs: number,
) => Iterable<AnsweredWindow>;

/** Returns the traces of a tenant, as lists and exports read them. */
function sourceOf(chunks: ChunkReader, stats: StatReader, answered: Answered, tenantId: string): TraceSource {
  return {
    answered: (fact, newestMs, oldestMs) => answered(tenantId, fact, newestMs, oldestMs),
    starts: (newestMs, oldestMs) => chunks.starts(tenantId, newestMs, oldestMs),
    async *windows(starts) {
      for await (const startMs of starts) yield chunks.window(tenantId, startMs);
    },
    mayHave: (interval, starts, names) => stats.mayHave(tenantId, interval, starts, names),
  };
}

/** Sets the size of pages. Only a database that is still empty takes it. */
function setPageSize(file: string): void {
  const raw = openRaw(file, 0);
  try {
    raw.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL`);
  } finally {
    raw.close();
  }
}
