import { parentPort, workerData } from 'node:worker_threads';
import type { CallBatch } from '../store.ts';
import { createDestinationWriter } from './destinations.ts';
import { tracesMigrations } from './migrations.ts';
import { openDatabase } from './sqlite.ts';
import { type Chunk, collectIds, createSorter, linesOf, withoutRepeats } from './traces-chunks.ts';
import { createChunkReader } from './traces-reader.ts';

/*
 * The thread that writes traces. It gets whole batches by transfer, so the calls' own thread spends nothing on a line, and when
 * SQLite moves its WAL into the database, which takes tens of milliseconds, nobody waits.
 */

/** A batch, answered by a `BatchResult`; or the end. */
export type TracesMessage = CallBatch | 'close';

/** How many lines were left out, or why nothing of the batch was written. */
export type BatchResult = { readonly unreadable: number } | { readonly failure: string };

/** SQLite moves its WAL into the database when it has so many pages (8 MB). */
const checkpointPages = 256;

const db = openDatabase(String(workerData), { synchronous: 'NORMAL', migrations: tracesMigrations });
db.prepare(`PRAGMA wal_autocheckpoint = ${checkpointPages}`).get();
const insert = db.prepare(
  'INSERT INTO trace_chunks (tenant_id, first_ms, last_ms, count, lines) VALUES (?, ?, ?, ?, ?)',
);
const stored = createChunkReader(db);
const sorter = createSorter();
const writeDestinations = createDestinationWriter(db);

function record({ lines, mayRepeat }: CallBatch): BatchResult {
  try {
    const { chunks, touched, unreadable } = sorter.sort(lines);
    const haveForgotten = db.transact(() => {
      for (const chunk of chunks) store(chunk, linesOf(chunk, lines), mayRepeat);
      return writeDestinations(touched);
    });
    for (const origin of touched.keys()) origin.isStored = true;
    if (haveForgotten) sorter.forget();
    return { unreadable };
  } catch (error) {
    const { cause } = error as Error;
    return { failure: String(cause ?? error) };
  }
}

function store(chunk: Chunk, lines: Buffer, mayRepeat: boolean): void {
  const { tenantId, firstMs, lastMs } = chunk;
  const fresh = mayRepeat ? withoutRepeats(lines, idsAround(chunk)) : { lines, count: chunk.count };
  if (fresh.count > 0) insert.run(tenantId, firstMs, lastMs, fresh.count, fresh.lines);
}

/** Ids of all traces that are stored already and may be among those of the chunk. */
function idsAround({ tenantId, firstMs, lastMs }: Chunk): Set<string> {
  const ids = new Set<string>();
  for (const lines of stored.between(tenantId, firstMs, lastMs)) collectIds(lines, ids);
  return ids;
}

parentPort?.on('message', (message: TracesMessage) => {
  if (message === 'close') {
    db.close();
    parentPort?.close();
  } else {
    parentPort?.postMessage(record(message));
  }
});
