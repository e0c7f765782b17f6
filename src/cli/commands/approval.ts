import { type Command, Option } from 'commander';
import type { Approval } from '../../api/answers.ts';
import {
  apiPath,
  asks,
  type CliCommand,
  command,
  listCommand,
  type PageOptions,
  showList,
  showOne,
} from '../ask.ts';
import type { CommonOptions } from '../connection/client.ts';

interface ListOptions extends PageOptions {
  readonly status?: string;
  readonly agent?: string;
  readonly tool?: string;
}

interface WatchOptions extends CommonOptions {
  readonly once?: boolean;
}

interface DecideOptions extends CommonOptions {
  readonly note?: string;
  readonly window?: boolean;
}

const named = { path: '/v1/approvals', field: 'approval_id', noun: 'approval' };
const columns = ['approval_id', 'status', 'agent_name', 'method', 'url', 'reason_codes', 'expires_at'];

const toQuery = ({ status, agent: agent_id, tool: tool_name }: ListOptions) => ({
  status,
  agent_id,
  tool_name,
});

/** Adds `postern approval`, for calls that wait for a person. */
export function addApproval(program: Command): void {
  const group = program.command('approval').description('calls that are held until somebody decides');
  const statuses = ['pending', 'approved', 'denied', 'expired'];
  listCommand(group, 'list approvals, newest first')
    .addOption(new Option('--status <status>', 'these alone').choices(statuses))
    .option('--agent <agent_id>', 'of this agent')
    .option('--tool <name>', 'of this tool')
    .action(showList<ListOptions>('/v1/approvals', columns, { query: toQuery }));
  command(group, 'show', 'show an approval: the call, and what was found in it')
    .argument('<approval_id>')
    .action(showOne('/v1/approvals/?', { named }));
  command(group, 'watch', 'show each call that waits, and decide on it with one key')
    .option('--once', 'end when nothing waits any more')
    .action(asks(watch));
  addDecision(group, 'approve', 'let the identical call out, once', 'approved').option(
    '--window',
    'let it out as often as it comes while the grant lasts',
  );
  addDecision(group, 'deny', 'deny the call, and identical ones while the denial lasts', 'denied');
}

type Decided = 'approved' | 'denied';

const addDecision = (group: Command, name: string, description: string, decision: Decided): Command =>
  command(group, name, description)
    .argument('<approval_id>')
    .option('--note <text>', 'why; the agent reads it')
    .action(asks<DecideOptions>((asking) => decide(asking, decision), { named }));

async function watch({ client, options, misused }: CliCommand<WatchOptions>): Promise<void> {
  const { watchApprovals } = await import('../watch-approvals.ts');
  if (!process.stdin.isTTY) return misused('it needs a terminal; "approval list" needs none');
  await watchApprovals(client, options.once ?? false);
}

async function decide(
  { client, operands, options: { note, window }, tell }: CliCommand<DecideOptions>,
  decision: Decided,
): Promise<void> {
  const asked = { decision, note, scope: window ? 'window' : undefined };
  const path = apiPath('/v1/approvals/?/decision', ...operands);
  const approval = await client.send<Approval>('POST', path, asked);
  await tell(approval, `${approval.approval_id} is ${decision}.`);
}
