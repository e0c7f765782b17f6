import { readEntry } from '../../rules/audit-entry.ts';
import { isAlertNews } from '../../rules/limits.ts';
import type { NoticeSources } from '../../store.ts';
import type { Disk } from '../disk.ts';

/** The limit of rows that are read at once. */
const rowsMax = 500;

/** Keeps the sources of notices, and how far each was read. */
export function createEmbeddedTold({ db, commits, audit }: Disk): NoticeSources {
  const find = db.prepare('SELECT place FROM notices_told WHERE tenant_id = ? AND source = ?');
  const put = db.prepare(`
    INSERT INTO notices_told (tenant_id, source, place) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET place = max(place, excluded.place)
  `);
  const entries = db.prepare(
    'SELECT entry, hash FROM audit WHERE tenant_id = ? AND seq > ? ORDER BY seq LIMIT ?',
  );
  const last = db.prepare(
    'SELECT max(period_ms) AS period_ms FROM usage_alerts WHERE tenant_id = ? AND percent = ?',
  );
  const mark = db.prepare('INSERT INTO usage_alerts (tenant_id, period_ms, percent) VALUES (?, ?, ?)');
  const forgetMarks = db.prepare(
    'DELETE FROM usage_alerts WHERE tenant_id = ? AND percent = ? AND period_ms < ?',
  );

  return {
    async toldUpTo(tenantId, source) {
      const place = find.get(tenantId, source)?.['place'];
      return place === undefined ? undefined : Number(place);
    },

    noteTold: (tenantId, source, place) => commits.write(() => void put.run(tenantId, source, place)),

    async auditAfter(tenantId, seq, limit) {
      return entries
        .all(tenantId, seq, Math.min(limit, rowsMax))
        .map((row) => readEntry({ entry: String(row['entry']), hash: String(row['hash']) }));
    },

    alertUsage: (tenantId, { periodStartMs, percent }, event) =>
      commits.write(() => {
        const told = last.get(tenantId, percent)?.['period_ms'];
        if (!isAlertNews(typeof told === 'number' ? told : undefined, periodStartMs)) return false;
        mark.run(tenantId, periodStartMs, percent);
        forgetMarks.run(tenantId, percent, periodStartMs);
        audit.append(event);
        return true;
      }),
  };
}
