import type { Command } from 'commander';
import type { Agent, Listing, Suspension } from '../../api/answers.ts';
import { apiPath, askPage, asks, command, listCommand, type PageOptions } from '../ask.ts';
import type { CommonOptions } from '../connection/client.ts';
import { agentList } from '../connection/whole-id.ts';
import { note as remark } from '../output.ts';

interface MeasureOptions extends CommonOptions {
  readonly note?: string;
  readonly all?: boolean;
}

/** The words for a measure that may be taken against all agents of the tenant at once. */
interface MeasureOfAll {
  readonly description: string;
  readonly done: string;
}

const named = agentList;
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

/** Adds `postern agent`, which shows who calls, and what an operator can do about it. */
export function addAgent(program: Command): void {
  const group = program.command('agent').description('agents, whose calls pass the gateway');

  listCommand(group, 'list agents, newest first').action(
    asks<PageOptions>(async ({ client, options, showPage }) => {
      const page = await client.get<Listing<Agent>>('/v1/agents', askPage(options));
      await showPage(page, columns);
      if (page.items.some((it) => it.tenant_suspended))
        remark('All of them are suspended with their tenant.');
    }),
  );

  const addMeasure = (name: string, description: string, done: string, ofAll?: MeasureOfAll): void => {
    const measure = command(group, name, description)
      .argument(ofAll ? '[agent_id]' : '<agent_id>')
      .option('--note <text>', 'why; it stands in the audit log')
      .action(
        asks<MeasureOptions>(
          async ({ client, operands: [agentId], options, misused, tell }) => {
            const { all: isOfAll = false, note } = options;
            if ((agentId === undefined) !== isOfAll) return misused('name an agent, or take them --all');
            if (ofAll && agentId === undefined) {
              const tenant = await client.send<Suspension>('POST', `/v1/agents/${name}`, { note });
              return tell(tenant, `The agents of ${tenant.tenant_id} ${ofAll.done}.`);
            }
            const agent = await client.send<Agent>('POST', apiPath(`/v1/agents/?/${name}`, agentId), {
              note,
            });
            return tell(agent, `${agent.agent_id} ${done}.`);
          },
          { named },
        ),
      );
    if (ofAll) measure.option('--all', ofAll.description);
  };
  addMeasure('suspend', 'deny all calls of an agent from the next one on', 'is suspended', {
    description: 'all agents of the tenant, those that register later too',
    done: 'are all suspended',
  });
  addMeasure('reactivate', 'end the suspension of an agent', 'is active', {
    description: 'end that of all agents at once, with the admin secret',
    done: 'may call again, save those that were suspended one by one',
  });
  addMeasure('reset-trust', 'hold nothing against an agent any more', 'is trusted as a new one');
}
