import { z } from 'zod';
import { toolConcernKinds } from '../../../core/call.ts';
import type { McpServer } from '../../../state/store.ts';
import { idOf, listing, missing, ofTenant, time, toListAnswer, toPage } from '../../fields/fields.ts';
import { shown } from '../../fields/shown.ts';
import { routesOf } from '../../route.ts';

/* The tools that MCP servers have listed through the proxies, and concerns about them. */

const route = routesOf('tools');
/** Servers that a page has at most, whatever is asked for. What is remembered of a server can be large. */
const pageMax = 100;
const toolNames = z.array(z.string().min(1).max(128)).min(1).max(64);

const publicList = z.object({
  path: z.string().describe('Without its query, and without what was found in it.'),
  tools: z.int(),
  first_seen_at: time,
  seen_at: time,
});

const publicConcern = z.object({
  tool: z.string().describe('`sha256:…` of a name that is not shown; `*`: all tools of the server.'),
  kinds: z.array(z.enum(toolConcernKinds)),
  since: time,
  until: time,
});

const publicServer = z
  .object({
    server_id: z.uuid(),
    origin: z.string(),
    seen_at: time.describe('The day on which it has last listed tools.'),
    lists: z.array(publicList),
    concerns: z.array(publicConcern),
  })
  .meta({ id: 'McpServer' });

const toPublic = (server: McpServer, nowMs: number): z.infer<typeof publicServer> =>
  shown(publicServer, server, {
    lists: server.lists.map((it) =>
      shown(publicList, it, { tools: it.tools.filter(({ isListed }) => isListed).length }),
    ),
    concerns: server.concerns.filter((it) => it.untilMs > nowMs).map((it) => shown(publicConcern, it, {})),
  });

/** `GET /v1/mcp-servers` lists servers by the day on which they last listed tools, newest first. */
export const listMcpServers = route('GET /v1/mcp-servers', {
  summary: 'List the MCP servers whose tools are remembered',
  access: 'policies:read',
  ...listing(publicServer),
  async handle({ gate, query, tenantId, nowMs }) {
    const limit = Math.min(query.limit, pageMax);
    const page = await gate.store.listMcpServers(tenantId(), toPage({ ...query, limit }));
    return toListAnswer(page, (it) => toPublic(it, nowMs));
  },
});

/** `POST /v1/mcp-servers/{server_id}/accept` accepts the tools of a server as they are listed now. */
export const acceptTools = route('POST /v1/mcp-servers/:server_id/accept', {
  summary: 'Accept the tools of an MCP server as they are',
  // An agent's own key may write policies. But the agent must not accept the tools that it is led by.
  access: 'approvals:decide',
  body: z
    .object({ ...ofTenant, tools: toolNames.nullish().describe('Of its concerns; absent: all of them.') })
    .nullish(),
  isBodyOptional: true,
  answer: publicServer,
  async handle({ gate, params, body, tenantId, nowMs, audit }) {
    const tenant = tenantId();
    const serverId = idOf(params, 'server_id', what);
    const tools = body?.tools ?? undefined;
    const event = audit('mcp.accepted', serverId, { tools: tools ?? null });
    const server = await gate.store.acceptTools(tenant, serverId, tools, event);
    if (!server) throw missing(what);
    return toPublic(server, nowMs);
  },
});

const what = 'MCP server';
