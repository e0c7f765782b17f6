import { readEntry } from '../rules/audit-entry.ts';
import { isAlertNews } from '../rules/limits.ts';
import type { NoticeSources } from '../store.ts';
import type { Link } from './link/link.ts';
import { scripts } from './scripts/scripts.ts';

/** The limit of rows that are read at once. */
const rowsMax = 500;

/** Keeps the sources of notices, and how far each was read. */
export function createRedisNoticeSources({ connection, names, commits }: Link): NoticeSources {
  return {
    async toldUpTo(tenantId, source) {
      const place = await connection.call('HGET', names.of(tenantId).told, source);
      return typeof place === 'string' ? Number(place) : undefined;
    },

    async noteTold(tenantId, source, place) {
      await connection.run(scripts.told, [names.of(tenantId).told], [source, place]);
    },

    async auditAfter(tenantId, seq, limit) {
      const last = seq + Math.min(limit, rowsMax) - 1;
      const rows = (await connection.call('LRANGE', names.of(tenantId).audit, seq, last)) as string[];
      return rows.map((row) => readEntry({ hash: row.slice(0, 64), entry: row.slice(64) }));
    },

    alertUsage: (tenantId, { periodStartMs, percent }, event) =>
      commits.write(tenantId, async (change) => {
        const { told } = change.names;
        const field = `usage ${percent}`;
        // Only the last period is kept: the next one takes its place.
        const last = await change.read(told, field);
        if (!isAlertNews(last === undefined ? undefined : Number(last), periodStartMs)) return false;
        change.put(told, field, String(periodStartMs));
        change.audit(event);
        return true;
      }),
  };
}
