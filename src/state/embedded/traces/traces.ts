import { isMarkedAsUntransferable, Worker } from 'node:worker_threads';
import { GatewayError } from '../../../core/errors.ts';
import type { TrustMark } from '../../../core/history.ts';
import { timeOfTraceId } from '../../../core/ids.ts';
import { threadEnvironment } from '../../../util/prepared.ts';
import { programModule } from '../../../util/program-files.ts';
import { defaultTrustTerms } from '../../rules/trust.ts';
import type { Arrivals, CallBatch, Page, Paged, TraceFilter, TrustTerms } from '../../store.ts';
import { findTrace, traceLines } from '../../traces/lines.ts';
import { exportTraces, listTraces, type TraceSource } from '../../traces/list.ts';
import type { StatInterval } from '../../traces/stats.ts';
import { type BudgetReader, createBudgetReader } from '../counts/budgets.ts';
import { type CounterReader, createCounterReader } from '../counts/counters.ts';
import { createHistoryReader, type HistoryReader } from '../counts/history.ts';
import { createStatReader, type StatReader, statsRemovedMax } from '../counts/stats.ts';
import { createDestinations, type Destinations } from '../destinations.ts';
import { tracesMigrations } from '../file/migrations.ts';
import { openDatabase, openRaw, toStateError } from '../sqlite.ts';
import { createTenantsOf } from '../tenants-of.ts';
import { createChunkReader } from './traces-reader.ts';
import { removedMax } from './traces-removal.ts';
import type { TracesMessage, TracesRequest, TracesResult } from './traces-worker.ts';

/** Traces, known destinations, counts, budgets and histories: `traces.db`. Read here, written by a thread of its own (`traces-worker.ts`). */
export interface Traces {
  readonly destinations: Destinations;
  readonly counters: CounterReader;
  readonly budgets: BudgetReader;
  readonly history: HistoryReader;
  /** `Store.recordCalls`: one transaction for the batch. */
  record(batch: CallBatch): Promise<number>;
  byId(tenantId: string, traceId: string): string | undefined;
  list(tenantId: string, filter: TraceFilter, page: Page): Promise<Paged<string>>;
  export(tenantId: string, filter: TraceFilter): AsyncIterable<readonly string[]>;
  /** `Store.tracesSince`. */
  since(tenantId: string, position: string | undefined): Arrivals;
  readonly stats: Pick<StatReader, 'read' | 'readDecisions'>;
  /** Those that have traces, or counts of them. */
  tenants(): string[];
  /** Removes the traces from before then; such as lie in one chunk with younger ones stay as long as these. */
  removeBefore(tenantId: string, ms: number): Promise<void>;
  removeStatsBefore(tenantId: string, interval: StatInterval, ms: number): Promise<void>;
  /** Forgets agents that have not called since then. */
  forgetIdle(sinceMs: number): Promise<void>;
  /** Forgets what keys have used that are there no more. Never rejects: what stays takes room, and nobody finds it. */
  forgetKeys(keyIds: readonly string[]): Promise<void>;
  /** Something is held against the agent; null: nothing is any more. */
  markTrust(agentId: string, mark: TrustMark | null): Promise<void>;
  restoreTrust(terms: TrustTerms): void;
  /** Tells whether the last batch was refused. */
  isFailing(): boolean;
  close(): Promise<void>;
}

/** Half a megabyte in large pages costs half of what it does in SQLite's 4 KB: fewer writes, to the WAL and out of it. */
const pageBytes = 32_768;
/** That one answer to `since` has: four megabytes at most. */
const arrivalsMax = 8;

export function openTraces(file: string): Traces {
  setPageSize(file);
  const db = openDatabase(file, { synchronous: 'NORMAL', migrations: tracesMigrations });
  const destinations = createDestinations(db);
  const chunks = createChunkReader(db);
  const stats = createStatReader(db);
  const tracedTenants = createTenantsOf(db, 'trace_chunks');
  const sourceOf = (tenantId: string): TraceSource => ({
    starts: (newestMs, oldestMs) => chunks.starts(tenantId, newestMs, oldestMs),
    async *windows(starts) {
      for await (const startMs of starts) yield chunks.window(tenantId, startMs);
    },
    mayHave: (interval, starts, names) => stats.mayHave(tenantId, interval, starts, names),
  });
  /** Those that wait for an answer; answers come in the order of the questions. */
  const waiting: (PromiseWithResolvers<number> & { readonly isBatch: boolean })[] = [];
  let writer: Worker | undefined;
  let isFailing = false;
  let terms = defaultTrustTerms;
  let isClosed = false;

  function settleNext(result: TracesResult): void {
    const asked = waiting.shift();
    if (asked?.isBatch) isFailing = 'failure' in result;
    if ('failure' in result) asked?.reject(toStateError(new Error(result.failure)));
    else asked?.resolve(result.count);
  }

  function ask(request: TracesRequest, transfer: readonly ArrayBuffer[] = []): Promise<number> {
    if (isClosed) return Promise.reject(new GatewayError('SHUTTING_DOWN', 'The state is closed.'));
    writer ??= startWriter();
    const answer = Promise.withResolvers<number>();
    waiting.push({ ...answer, isBatch: 'lines' in request });
    writer.postMessage(request satisfies TracesMessage, transfer);
    return answer.promise;
  }

  function startWriter(): Worker {
    const source = programModule('state/embedded/traces/traces-worker');
    const worker = new Worker(source, { workerData: file, env: threadEnvironment() });
    /** The next batch finds a new thread; the journal still has those that this one did not answer. */
    const giveUp = (reason: unknown) => {
      if (writer !== worker) return;
      writer = undefined;
      if (!isClosed) isFailing = true;
      for (const batch of waiting.splice(0)) batch.reject(toStateError(reason));
    };
    worker.on('message', settleNext);
    worker.once('error', giveUp);
    worker.once('exit', () => giveUp(new Error('the thread that writes traces has ended')));
    return worker;
  }

  return {
    destinations,
    counters: createCounterReader(db),
    budgets: createBudgetReader(db),
    history: createHistoryReader(db),
    isFailing: () => isFailing,

    record(batch) {
      const { buffer } = batch.lines;
      // Node's pool of small buffers cannot be taken away; what lies in it is copied.
      return ask({ ...batch, terms }, isMarkedAsUntransferable(buffer) ? [] : [buffer]);
    },

    stats,
    tenants: () => [...new Set([...tracedTenants(), ...stats.tenants()])],
    async removeBefore(tenantId, beforeMs) {
      // Batches get their turn between.
      while ((await ask({ tenantId, beforeMs })) === removedMax);
    },

    async removeStatsBefore(statsOf, interval, beforeMs) {
      while ((await ask({ statsOf, interval, beforeMs })) === statsRemovedMax);
    },

    async forgetIdle(idleSinceMs) {
      await ask({ idleSinceMs });
    },

    async forgetKeys(keyIds) {
      await ask({ keyIds }).catch(() => undefined);
    },

    async markTrust(agentId, mark) {
      await ask({ agentId, mark, terms });
    },
    restoreTrust(next) {
      terms = next;
    },

    byId(tenantId, traceId) {
      const ms = timeOfTraceId(traceId);
      if (ms === undefined) return undefined;
      for (const lines of chunks.between(tenantId, ms, ms)) {
        const trace = findTrace(lines, traceId);
        if (trace !== undefined) return trace;
      }
      return undefined;
    },

    since(tenantId, position) {
      const last = chunks.lastId();
      const after = position === undefined ? last : Number(position);
      // Numbers begin anew where all that had any is gone.
      if (!(after <= last)) return { traces: [], position: String(last), hasMore: false, hasGap: true };
      const found = chunks.stored(tenantId, after, last, arrivalsMax);
      const hasMore = found.length === arrivalsMax;
      const traces = found.flatMap(({ lines }) => [...traceLines(lines)].map((it) => it.read()));
      const reached = hasMore ? (found.at(-1)?.chunkId ?? last) : last;
      return { traces, position: String(reached), hasMore, hasGap: false };
    },

    list: (tenantId, filter, page) => listTraces(sourceOf(tenantId), filter, page),
    export: (tenantId, filter) => exportTraces(sourceOf(tenantId), filter),

    async close() {
      isClosed = true;
      const ending = writer;
      if (ending) {
        // Batches are awaited first, because messages that the thread sends shortly before it ends can be lost.
        await Promise.allSettled(waiting.map(({ promise }) => promise));
        ending.postMessage('close' satisfies TracesMessage);
        await new Promise((resolve) => ending.once('exit', resolve));
      }
      db.close();
    },
  };
}

/** Only a database that is still empty takes it. */
function setPageSize(file: string): void {
  const raw = openRaw(file, 0);
  try {
    raw.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL`);
  } finally {
    raw.close();
  }
}
