import type { Command } from 'commander';
import { asks, command, listCommand, type PageOptions, pageOf, path } from '../ask.ts';
import type { CommonOptions, Page } from '../client.ts';

type Agent = Readonly<Record<string, unknown>> & { readonly agent_id: string };

const columns = [
  'agent_id',
  'name',
  'env_name',
  'runtime_type',
  'status',
  'trust_score',
  'last_seen',
  'calls_total',
];

/** `postern agent`: who calls, and what an operator does about it. */
export function addAgent(program: Command): void {
  const group = program.command('agent').description('agents, whose calls pass the gate');

  listCommand(group, 'list agents, newest first').action(
    asks<PageOptions>(async ({ client, options, showPage }) =>
      showPage(await client.get<Page<Agent>>('/v1/agents', pageOf(options)), columns),
    ),
  );

  const addMeasure = (name: string, description: string, done: string): Command =>
    command(group, name, description)
      .argument('<agent_id>')
      .option('--note <text>', 'why; it stands in the audit log')
      .action(
        asks<CommonOptions & { note?: string }>(async ({ client, operands, options, tell }) => {
          const agent = await client.send<Agent>('POST', path(`/v1/agents/?/${name}`, ...operands), {
            note: options.note,
          });
          await tell(agent, `${agent.agent_id} ${done}.`);
        }),
      );
  addMeasure('suspend', 'deny all calls of an agent from the next one on', 'is suspended');
  addMeasure('reactivate', 'end the suspension of an agent', 'is active');
  addMeasure('reset-trust', 'hold nothing against an agent any more', 'is trusted as a new one');
}
