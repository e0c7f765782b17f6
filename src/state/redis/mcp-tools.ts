import type { ToolConcern } from '../../core/call.ts';
import { accept, concernsOf, rememberToolList, serversMax } from '../rules/mcp-tools.ts';
import type { McpCall, McpServer, McpToolStore, StandingConcern } from '../store.ts';
import type { Change } from './link/commits.ts';
import type { Link } from './link/link.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { toRecord } from './records.ts';

/**
 * Returns the field of the concerns about a server's tools. It stands beside the record, because `admit.lua`
 * answers it.
 */
export const concernsField = (serverId: string): string => `concerns:${serverId}`;

/**
 * Keeps the tools that MCP servers have listed. There is a record of each server, its place by the day it was
 * seen, and the concerns about its tools.
 */
export function createRedisMcpTools({ connection, names, commits }: Link): McpToolStore {
  function save(change: Change, before: McpServer | undefined, server: McpServer): void {
    const { mcpServers } = change.names;
    const { serverId, seenAtMs, concerns } = server;
    const index = change.names.indexOf('mcp');
    change.putRecord(mcpServers, serverId, server);
    if (concerns.length > 0) change.putRecord(mcpServers, concernsField(serverId), concerns);
    else change.drop(mcpServers, concernsField(serverId));
    if (before?.seenAtMs === seenAtMs) return;
    if (before) change.leave(index, indexPlaceOf(before.seenAtMs, serverId));
    change.index(index, indexPlaceOf(seenAtMs, serverId), { most: serversMax, records: mcpServers });
  }

  return {
    rememberTools: (sighting) =>
      commits.write(sighting.tenantId, async (change) => {
        const text = await change.read(change.names.mcpServers, sighting.server.serverId);
        const before = toRecord<McpServer>(text);
        const { server, drift } = rememberToolList(before, sighting);
        if (JSON.stringify(server) !== text) save(change, before, server);
        return drift;
      }),

    async listMcpServers(tenantId, page) {
      const { mcpServers, indexOf } = names.of(tenantId);
      return readPage(connection, { key: indexOf('mcp'), records: mcpServers }, page, toRecord<McpServer>);
    },

    acceptTools: (tenantId, serverId, tools, event) =>
      commits.write(tenantId, async (change) => {
        const before = await change.readRecord<McpServer>(change.names.mcpServers, serverId);
        if (!before) return undefined;
        const server = accept(before, tools);
        save(change, before, server);
        change.audit(event);
        return server;
      }),
  };
}

/** Returns the concerns about the called tools, from what `admit.lua` answers. */
export const parseConcerns = (
  text: string | undefined,
  call: McpCall | undefined,
  nowMs: number,
): readonly ToolConcern[] =>
  call && text ? concernsOf(JSON.parse(text) as StandingConcern[], call, nowMs) : none;

const none: readonly never[] = Object.freeze([]);
