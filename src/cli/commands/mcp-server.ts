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

  group
    .command('run')
    .description('run an MCP server that speaks over standard input and output, and judge its messages')
    .argument('<name>', 'what rules call it: its calls go to mcp://NAME')
    .argument('<command...>', 'the command and its arguments, after --')
    .action(
      asks(
        async ({ client, operands: [name = '', ...words], misused }) => {
          const { pipedServerName } = await import('../../decision/facts/mcp-call.ts');
          if (!new RegExp(`^${pipedServerName}$`).test(name))
            misused('a name has 1 to 64 of a-z 0-9 - and begins with a letter.');
          const { createMcpJudge } = await import('../programs/mcp-judge.ts');
          const { runMcpServer } = await import('../programs/mcp-stdio.ts');
          const { ownEnvironment } = await import('../programs/own-environment.ts');
          const judge = createMcpJudge(client, name);
          const { stdin: input, stdout: output } = process;
          process.exitCode = await runMcpServer(words, { input, output, judge, env: ownEnvironment() });
        },
        { as: 'agent' },
      ),
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
