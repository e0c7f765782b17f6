import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import { accept, concernsOf, mcpServerId, rememberToolList, serversMax } from '../rules/mcp-tools.ts';
import type { McpCall, McpServer, McpToolStore, StandingConcern } from '../store.ts';
import { createBound } from './bound.ts';
import { type Disk, writeAudited } from './disk.ts';
import { createListing, records } from './listing.ts';
import { parseStored, type Row } from './sqlite.ts';

/** Keeps the tools that MCP servers have listed. Concerns about them are answered from memory. */
export type McpTools = ReturnType<typeof createEmbeddedMcpTools>;

const cachedMax = 16_384;

export function createEmbeddedMcpTools(disk: Disk) {
  const { db, commits } = disk;
  const byId = db.prepare('SELECT record FROM mcp_servers WHERE tenant_id = ? AND server_id = ?');
  const upsert = db.prepare(`
    INSERT INTO mcp_servers (server_id, tenant_id, record) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET record = excluded.record
  `);
  const order = ['seen_at_ms', 'server_id'] as const;
  const list = createListing(db, { table: 'mcp_servers', order, ...records<McpServer>() });
  const makeRoom = createBound(db, { table: 'mcp_servers', order, most: serversMax });
  /** The concerns by server; an empty list for a server that was never seen. */
  const concerns = createCache<readonly StandingConcern[]>(cachedMax);

  const learn = ({ serverId, concerns: standing }: McpServer): void => concerns.set(serverId, standing);

  const standingConcerns = (tenantId: string, serverId: string): readonly StandingConcern[] =>
    kept(concerns, serverId, () => parse(textOf(byId.get(tenantId, serverId)))?.concerns ?? []);

  const store: McpToolStore = {
    async rememberTools(sighting) {
      const { tenantId, server } = sighting;
      const work = () => {
        const before = textOf(byId.get(tenantId, server.serverId));
        const remembered = rememberToolList(parse(before), sighting);
        const text = JSON.stringify(remembered.server);
        if (before === undefined) makeRoom(tenantId);
        if (text !== before) upsert.run(server.serverId, tenantId, text);
        return remembered;
      };
      const { drift } = await commits.write(work, (it) => learn(it.server));
      return drift;
    },

    listMcpServers: async (tenantId, page) => list([['tenant_id = ?', tenantId]], page),

    acceptTools(tenantId, serverId, tools, event) {
      const work = () => {
        const before = parse(textOf(byId.get(tenantId, serverId)));
        if (!before) return undefined;
        const accepted = accept(before, tools);
        upsert.run(serverId, tenantId, JSON.stringify(accepted));
        return accepted;
      };
      return writeAudited(disk, event, work, (it) => it && learn(it));
    },
  };

  return {
    store,
    concernsOf: (tenantId: string, call: McpCall, nowMs: number) =>
      concernsOf(standingConcerns(tenantId, mcpServerId(tenantId, call.origin)), call, nowMs),
  };
}

const textOf = (row: Row | undefined): string | undefined => row && String(row['record']);
const parse = (text: string | undefined): McpServer | undefined =>
  text === undefined ? undefined : parseStored<McpServer>(text);
