import { parentPort, workerData } from 'node:worker_threads';
import type { TrustMark } from '../../../core/history.ts';
import type { CallBatch, TrustTerms } from '../../store.ts';
import { createBudgetWriter } from '../counts/budgets.ts';
import { createCounterWriter } from '../counts/counters.ts';
import { createHistoryWriter } from '../counts/history.ts';
import { createStatsRemover, createStatWriter, type StatsRemoval } from '../counts/stats.ts';
import { createDestinationWriter } from '../destinations.ts';
import { tracesMigrations } from '../file/migrations.ts';
import { openDatabase, whyRefused } from '../sqlite.ts';
import {
  type Chunk,
  collectIds,
  linesOf,
  type SortedBatch,
  Sorter,
  withoutRepeats,
} from './traces-chunks.ts';
import { createChunkReader } from './traces-reader.ts';
import {
  type CountsRemoval,
  createCountsRemover,
  createHistoriesRemover,
  createTracesRemover,
  type HistoriesRemoval,
  type TracesRemoval,
} from './traces-removal.ts';

/*
 * Writes traces, in a thread. Batches come to it by transfer, so the main thread spends nothing on a line,
 * and nobody waits while SQLite checkpoints its WAL.
 */

/** A request to the thread. Each is answered, in turn, by a `TracesResult`. */
export type TracesRequest =
  | TracesBatch
  | TracesRemoval
  | StatsRemoval
  | CountsRemoval
  | HistoriesRemoval
  | TrustChange;

interface TracesBatch extends CallBatch {
  readonly terms: TrustTerms;
}

/** A mark against an agent; null removes all of its marks. */
interface TrustChange {
  readonly agentId: string;
  readonly mark: TrustMark | null;
  readonly terms: TrustTerms;
}

export type TracesMessage = TracesRequest | 'close';

/**
 * The number of lines that were left out, or of rows that were removed; otherwise why nothing was written.
 */
export type TracesResult = { readonly count: number } | { readonly failure: string; readonly errstr: string };

/** The number of pages of the WAL (8 MB) at which SQLite moves them into the database. */
const checkpointPages = 256;

const db = openDatabase(String(workerData), { synchronous: 'NORMAL', migrations: tracesMigrations });
db.prepare(`PRAGMA wal_autocheckpoint = ${checkpointPages}`).get();
const insert = db.prepare(
  'INSERT INTO trace_chunks (tenant_id, first_ms, last_ms, count, lines) VALUES (?, ?, ?, ?, ?)',
);
const stored = createChunkReader(db);
const sorter = new Sorter();
const writeCounters = createCounterWriter(db);
const writeBudgets = createBudgetWriter(db);
const writeDestinations = createDestinationWriter(db);
const history = createHistoryWriter(db);
const writeStats = createStatWriter(db);
const removeStats = createStatsRemover(db);
const removeTraces = createTracesRemover(db);
const removeCounts = createCountsRemover(db);
const removeHistories = createHistoriesRemover(db);

function answer(request: TracesRequest): TracesResult {
  try {
    if ('lines' in request) return { count: record(request) };
    if ('mark' in request) return { count: changeTrust(request) };
    if ('idleSinceMs' in request) {
      const count = removeHistories(request);
      if (count > 0) sorter.forget();
      return { count };
    }
    if ('statsOf' in request) return { count: removeStats(request) };
    return { count: 'keyIds' in request ? removeCounts(request) : removeTraces(request) };
  } catch (error) {
    const { cause } = error as Error;
    return { failure: String(cause ?? error), errstr: whyRefused(error) };
  }
}

function changeTrust({ agentId, mark, terms }: TrustChange): number {
  db.transact(() => history.mark(agentId, mark, terms));
  return 1;
}

function record({ lines, mayRepeat, terms }: TracesBatch): number {
  const sorted = sorter.sort(lines);
  if (mayRepeat) storeNew(withoutStored(sorted.chunks, lines), terms);
  else store(sorted, lines, terms);
  return sorted.unreadable;
}

/**
 * Stores the lines of a batch that are not stored yet. They are sorted anew, so that a call that is stored
 * already is not counted again.
 */
function storeNew(lines: Uint8Array<ArrayBuffer>, terms: TrustTerms): void {
  store(sorter.sort(lines), lines, terms);
}

/** Stores traces, destinations, counts, histories and budgets: all of the batch or nothing. */
function store(
  { chunks, touched, tallies, stats }: SortedBatch,
  lines: Uint8Array<ArrayBuffer>,
  terms: TrustTerms,
): void {
  const haveForgotten = db.transact(() => {
    for (const chunk of chunks) {
      const { tenantId, firstMs, lastMs, count } = chunk;
      insert.run(tenantId, firstMs, lastMs, count, linesOf(chunk, lines));
    }
    writeCounters(tallies);
    writeBudgets(tallies);
    writeStats(stats);
    history.add(tallies, terms);
    return writeDestinations(touched);
  });
  for (const origin of touched.keys()) origin.isStored = true;
  if (haveForgotten) sorter.forget();
}

/**
 * Returns the lines whose traces are not stored. This thread alone writes, so they are not stored either when
 * the transaction begins.
 */
function withoutStored(chunks: readonly Chunk[], lines: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const ids = new Set<string>();
  return Buffer.concat(
    chunks.map((chunk) => {
      collectIdsAround(chunk, ids);
      return withoutRepeats(linesOf(chunk, lines), ids);
    }),
  );
}

/** Adds the ids of all stored traces that may be among those of the chunk. */
function collectIdsAround({ tenantId, firstMs, lastMs }: Chunk, ids: Set<string>): void {
  for (const lines of stored.between(tenantId, firstMs, lastMs)) collectIds(lines, ids);
}

parentPort?.on('message', (message: TracesMessage) => {
  if (message === 'close') {
    db.close();
    parentPort?.close();
  } else {
    parentPort?.postMessage(answer(message));
  }
});
