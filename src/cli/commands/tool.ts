import type { Command } from 'commander';
import type { ShownTool } from '../../api/answers.ts';
import { apiPath, asks, command, showList } from '../ask.ts';
import { print, terminal, toFacts, toJson, toTable } from '../output.ts';

/** Adds `postern tool`, for the tools whose calls are understood, and the names that policies can use. */
export function addTool(program: Command): void {
  const group = program.command('tool').alias('tools').description('tools whose calls are understood');

  command(group, 'list', 'list the tools by name').action(
    showList('/v1/tools', ['name', 'title', 'operations', 'hosts']),
  );

  command(group, 'show', 'show a tool and its operations')
    .argument('<name>')
    .action(
      asks(async ({ client, operands, options }) => {
        const tool = await client.get<ShownTool>(apiPath('/v1/tools/?', ...operands));
        const { operations, ...facts } = tool;
        const columns = ['name', 'category', 'verb', 'calls'];
        await print(
          options.json
            ? `${toJson(tool)}\n`
            : `${toFacts(facts)}\n${toTable(operations, columns, terminal(options.wide))}`,
        );
      }),
    );
}
