import { isDeepStrictEqual } from 'node:util';
import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import { accept, concernsOf, mcpServerId, rememberToolList, serversMax } from '../rules/mcp-tools.ts';
import type { McpCall, McpServer, McpToolStore, StandingConcern } from '../store.ts';
import { createBound } from './bound.ts';
import { type Disk, writeAudited } from './disk.ts';
import { createListing, records } from './listing.ts';
import { createRecordTable } from './record-table.ts';

/** Keeps the tools that MCP servers have listed. Concerns about them are answered from memory. */
export type McpTools = ReturnType<typeof createEmbeddedMcpTools>;

const cachedMax = 16_384;

export function createEmbeddedMcpTools(disk: Disk) {
  const { db, commits } = disk;
  const table = createRecordTable<McpServer>(db, 'mcp_servers', ['tenant_id', 'server_id']);
  const order = ['seen_at_ms', 'server_id'] as const;
  const list = createListing(db, { table: 'mcp_servers', order, ...records<McpServer>() });
  const makeRoom = createBound(db, { table: 'mcp_servers', order, most: serversMax });
  /** The concerns by server; an empty list for a server that was never seen. */
  const concerns = createCache<readonly StandingConcern[]>(cachedMax);

  const learn = ({ serverId, concerns: standing }: McpServer): void => concerns.set(serverId, standing);

  const standingConcerns = (tenantId: string, serverId: string): readonly StandingConcern[] =>
    kept(concerns, serverId, () => table.find(tenantId, serverId)?.concerns ?? []);

  const store: McpToolStore = {
    async rememberTools(sighting) {
      const { tenantId, server } = sighting;
      const work = () => {
        const before = table.find(tenantId, server.serverId);
        const remembered = rememberToolList(before, sighting);
        if (!before) makeRoom(tenantId);
        if (!isDeepStrictEqual(remembered.server, before))
          table.put(remembered.server, tenantId, server.serverId);
        return remembered;
      };
      const { drift } = await commits.write(work, (it) => learn(it.server));
      return drift;
    },

    listMcpServers: async (tenantId, page) => list([['tenant_id = ?', tenantId]], page),

    acceptTools(tenantId, serverId, tools, event) {
      const work = () => table.alter((server) => accept(server, tools), tenantId, serverId);
      return writeAudited(disk, event, work, (it) => it && learn(it));
    },
  };

  return {
    store,
    concernsOf: (tenantId: string, call: McpCall, nowMs: number) =>
      concernsOf(standingConcerns(tenantId, mcpServerId(tenantId, call.origin)), call, nowMs),
  };
}
