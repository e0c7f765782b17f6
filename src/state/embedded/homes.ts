import { homeKeptMsMax, homesPerAgentMax, homesPerTenantMax } from '../rules/homes.ts';
import type { HomeStore } from '../store.ts';
import { createRoom } from './bound.ts';
import type { Disk } from './disk.ts';

/** The ended homes that go with each binding, a few more than it adds. */
const forgottenMax = 64;

/** Keeps the homes of credentials on the disk, since a restart must not give them away. */
export function createEmbeddedHomes({ db, commits }: Disk): HomeStore {
  const find = db.prepare('SELECT home FROM homes WHERE tenant_id = ? AND credential = ? AND ends_at_ms > ?');
  const put = db.prepare(`
    INSERT INTO homes (tenant_id, credential, home, agent_id, ends_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT DO UPDATE SET
      home = excluded.home,
      agent_id = iif(ends_at_ms <= ?6, excluded.agent_id, agent_id),
      ends_at_ms = max(ends_at_ms, excluded.ends_at_ms)
  `);
  const forget = db.prepare(`
    DELETE FROM homes WHERE tenant_id = ?1 AND credential IN (
      SELECT credential FROM homes WHERE tenant_id = ?1 AND ends_at_ms <= ?2 LIMIT ${forgottenMax}
    )
  `);
  const heldBy = (column: string) => {
    const count = db.prepare(`SELECT count(*) AS held FROM homes WHERE ${column} = ?`);
    return (id: string): number => Number(count.get(id)?.['held']);
  };
  const hasRoomOfTenant = createRoom(homesPerTenantMax, heldBy('tenant_id'));
  const hasRoomOfAgent = createRoom(homesPerAgentMax, heldBy('agent_id'));

  const homeOf = (tenantId: string, credential: string, nowMs: number): string | undefined => {
    const home = find.get(tenantId, credential, nowMs)?.['home'];
    return home === undefined ? undefined : String(home);
  };

  return {
    homesOf: (tenantId, credentials, nowMs) => credentials.map((it) => homeOf(tenantId, it, nowMs)),

    bindHomes: ({ tenantId, agentId, home, credentials, nowMs }) =>
      commits.write(() => {
        forget.run(tenantId, nowMs);
        const standing = credentials.map((it) => homeOf(tenantId, it.credential, nowMs));
        if (standing.some((it) => it !== undefined && it !== home)) return 'elsewhere';
        const news = new Set(
          credentials.flatMap((it, at) => (standing[at] === undefined ? it.credential : [])),
        );
        for (const _ of news)
          if (!hasRoomOfTenant(tenantId, nowMs) || !hasRoomOfAgent(agentId, nowMs)) return 'full';
        for (const { credential, keptMs } of credentials) {
          const endsAtMs = nowMs + Math.round(Math.min(keptMs, homeKeptMsMax));
          put.run(tenantId, credential, home, agentId, endsAtMs, nowMs);
        }
        return 'bound';
      }),
  };
}
