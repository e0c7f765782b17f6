import { GatewayError } from '../../core/errors.ts';
import { traceIdsFrom } from '../../core/trace-time.ts';
import type { Disk } from './disk.ts';

/** Findings in answers, by the trace of the call. */
export type ResponseScans = ReturnType<typeof createResponseScans>;

const perTraceMax = 16;
/** One transaction removes no more. */
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
    add: (tenantId: string, traceId: string, scan: string) =>
      commits.write(() => {
        const held = Number(count.get(tenantId, traceId)?.['held']);
        if (held >= perTraceMax)
          throw new GatewayError('CONFLICT', `A trace keeps ${perTraceMax} scans of its response.`);
        insert.run(tenantId, traceId, held, scan);
      }),
    /** Those of traces from before then. */
    async removeBefore(tenantId: string, ms: number) {
      const firstKept = traceIdsFrom(ms);
      const removeSome = () => commits.write(() => remove.run(tenantId, firstKept));
      while ((await removeSome()) === removedMax);
    },
    of: (tenantId: string, traceId: string) =>
      byTrace.all(tenantId, traceId).map((row) => String(row['scan'])),
  };
}
