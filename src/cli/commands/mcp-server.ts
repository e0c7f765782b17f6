import type { Command } from 'commander';
import type { ShownMcpServer } from '../../api/answers.ts';
import { apiPath, asks, collectTexts, command, listCommand, showList } from '../ask.ts';
import type { CommonOptions } from '../connection/client.ts';

interface AcceptOptions extends CommonOptions {
  readonly tool?: readonly string[];
}

const named = { path: '/v1/mcp-servers', field: 'server_id', noun: 'MCP server' };
const columns = ['server_id', 'origin', 'tools', 'concerns', 'seen_at'];

const toRow = ({ lists, concerns, ...server }: ShownMcpServer) => ({
  ...server,
  tools: lists.reduce((sum, it) => sum + it.tools, 0),
  concerns: concerns.map(({ tool, kinds }) => `${tool}: ${kinds.join(' ')}`),
});

/** Adds `postern mcp-server`, for the tools that MCP servers have listed through the gateway. */
export function addMcpServer(program: Command): void {
  const group = program
    .command('mcp-server')
    .alias('mcp-servers')
    .description('MCP servers, and concerns about the tools that they list');

  listCommand(group, 'list MCP servers, those last seen first').action(
    showList('/v1/mcp-servers', columns, { toRow }),
  );

  command(group, 'accept', 'take the tools of a server as they are now')
    .argument('<server_id>')
    .option('--tool <name>', 'of its concerns; may be repeated (default: all)', collectTexts)
    .action(
      asks<AcceptOptions>(
        async ({ client, operands, options, tell }) => {
          const path = apiPath('/v1/mcp-servers/?/accept', ...operands);
          const server = await client.send<ShownMcpServer>('POST', path, { tools: options.tool });
          await tell(server, `The tools of ${server.origin} are accepted.`);
        },
        { named },
      ),
    );
}
