import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { GatewayError } from '../../errors.ts';
import type { RecordedCall } from '../store.ts';
import { createDestinations, type Destinations } from './destinations.ts';
import { tracesMigrations } from './migrations.ts';
import { openDatabase, toStateError } from './sqlite.ts';
import type { BatchResult, TracesMessage } from './traces-worker.ts';

/** Traces and known destinations: `traces.db`. Read here, written by a thread of its own (`traces-worker.ts`). */
export interface Traces {
  readonly destinations: Destinations;
  /** One transaction for the batch; a trace that is there already stays as it is. */
  record(calls: readonly RecordedCall[]): Promise<void>;
  byId(tenantId: string, traceId: string): string | undefined;
  close(): Promise<void>;
}

export function openTraces(file: string): Traces {
  const db = openDatabase(file, { synchronous: 'NORMAL', migrations: tracesMigrations });
  const destinations = createDestinations(db);
  const byId = db.prepare('SELECT line FROM traces WHERE tenant_id = ? AND trace_id = ?');
  /** Those that wait for an answer; answers come in the order of the batches. */
  const waiting: PromiseWithResolvers<void>[] = [];
  let writer: Worker | undefined;
  let isClosed = false;

  function settleNext({ failure }: BatchResult): void {
    const batch = waiting.shift();
    if (failure === undefined) batch?.resolve();
    else batch?.reject(toStateError(new Error(failure)));
  }

  function startWriter(): Worker {
    const source = new URL(`./traces-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(source, { workerData: file });
    /** The next batch finds a new thread; the journal still has those that this one did not answer. */
    const giveUp = (reason: unknown) => {
      if (writer !== worker) return;
      writer = undefined;
      for (const batch of waiting.splice(0)) batch.reject(toStateError(reason));
    };
    worker.on('message', settleNext);
    worker.once('error', giveUp);
    worker.once('exit', () => giveUp(new Error('the thread that writes traces has ended')));
    return worker;
  }

  return {
    destinations,

    async record(calls) {
      if (isClosed) throw new GatewayError('SHUTTING_DOWN', 'The state is closed.');
      writer ??= startWriter();
      const batch = Promise.withResolvers<void>();
      waiting.push(batch);
      writer.postMessage({ calls } satisfies TracesMessage);
      await batch.promise;
      for (const call of calls) destinations.note(call);
    },

    byId(tenantId, traceId) {
      const row = byId.get(tenantId, traceId);
      return row && String(row['line']);
    },

    async close() {
      isClosed = true;
      const ending = writer;
      if (ending) {
        ending.postMessage('close' satisfies TracesMessage);
        await new Promise((resolve) => ending.once('exit', resolve));
      }
      db.close();
    },
  };
}
