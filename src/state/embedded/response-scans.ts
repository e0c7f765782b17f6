import { GatewayError } from '../../core/errors.ts';
import { timeOfTraceId } from '../../core/ids.ts';
import { traceIdsFrom } from '../../core/trace-time.ts';
import { type AnsweredWindow, type AnswerFact, answerFacts } from '../traces/answer-facts.ts';
import { windowStart } from '../traces/lines.ts';
import type { Disk } from './disk.ts';
import type { Database } from './sqlite.ts';

/** Keeps the scans of answers, by the trace of the call. */
export type ResponseScans = ReturnType<typeof createResponseScans>;

const perTraceMax = 16;
/** The limit of scans that one transaction removes. */
const removedMax = 500;

export function createResponseScans({ db, commits }: Disk) {
  const count = db.prepare(
    'SELECT count(*) AS held FROM response_scans WHERE tenant_id = ? AND trace_id = ?',
  );
  const insert = db.prepare(
    'INSERT INTO response_scans (tenant_id, trace_id, number, scan) VALUES (?, ?, ?, ?)',
  );
  const byTrace = db.prepare(
    'SELECT scan FROM response_scans WHERE tenant_id = ? AND trace_id = ? ORDER BY number',
  );

  const remove = db.prepare(`
    DELETE FROM response_scans WHERE rowid IN (
      SELECT rowid FROM response_scans WHERE tenant_id = ? AND trace_id < ? LIMIT ${removedMax}
    )
  `);

  return {
    answered: createAnswered(db),
    add: (tenantId: string, traceId: string, scan: string) =>
      commits.write(() => {
        const held = Number(count.get(tenantId, traceId)?.['held']);
        if (held >= perTraceMax)
          throw new GatewayError('CONFLICT', `A trace keeps ${perTraceMax} scans of its response.`);
        insert.run(tenantId, traceId, held, scan);
      }),
    /** Removes the scans of a tenant's traces from before a time. */
    async removeBefore(tenantId: string, ms: number) {
      const firstKept = traceIdsFrom(ms);
      const removeSome = () => commits.write(() => remove.run(tenantId, firstKept));
      while ((await removeSome()) === removedMax);
    },
    of: (tenantId: string, traceId: string) =>
      byTrace.all(tenantId, traceId).map((row) => String(row['scan'])),
  };
}

/**
 * Returns a function that yields the windows with traces that have a fact: see `AnsweredSource` of
 * `traces/answer-facts.ts`.
 */
function createAnswered(db: Database) {
  // The names of facts are those of columns, each with an index of its own.
  const withFact = new Map(
    answerFacts.map((fact) => [
      fact,
      {
        newest: db.prepare(
          `SELECT max(trace_id) AS id FROM response_scans WHERE tenant_id = ? AND ${fact} > 0 AND trace_id < ?`,
        ),
        within: db.prepare(`
          SELECT DISTINCT trace_id AS id FROM response_scans
          WHERE tenant_id = ? AND ${fact} > 0 AND trace_id >= ? AND trace_id < ?
        `),
      },
    ]),
  );
  return function* (
    tenantId: string,
    fact: AnswerFact,
    newestMs: number,
    oldestMs: number,
  ): Generator<AnsweredWindow> {
    const find = withFact.get(fact);
    for (let bound = traceIdsFrom(newestMs + 1); find; ) {
      const id = find.newest.get(tenantId, bound)?.['id'];
      const ms = typeof id === 'string' ? timeOfTraceId(id) : undefined;
      if (ms === undefined || ms < oldestMs) return;
      const startMs = windowStart(ms);
      const first = traceIdsFrom(startMs);
      const traceIds = new Set(find.within.all(tenantId, first, bound).map((row) => String(row['id'])));
      yield { startMs, traceIds };
      bound = first;
    }
  };
}
