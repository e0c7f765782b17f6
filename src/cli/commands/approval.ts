import { type Command, Option } from 'commander';
import { apiPath, askPage, asks, command, listCommand, type PageOptions } from '../ask.ts';
import type { CommonOptions, ListPage } from '../connection/client.ts';

type Approval = Readonly<Record<string, unknown>> & { readonly approval_id: string; readonly status: string };

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

/** `postern approval`: calls that wait for a person. */
export function addApproval(program: Command): void {
  const group = program.command('approval').description('calls that are held until somebody decides');
  addList(group);
  addShow(group);
  addWatch(group);
  addDecisions(group);
}

function addList(group: Command): void {
  listCommand(group, 'list approvals, newest first')
    .addOption(
      new Option('--status <status>', 'these alone').choices(['pending', 'approved', 'denied', 'expired']),
    )
    .option('--agent <uuid>', 'of this agent')
    .option('--tool <name>', 'of this tool')
    .action(
      asks<ListOptions>(async ({ client, options, showPage }) => {
        const { status, agent, tool } = options;
        const query = { ...askPage(options), status, agent_id: agent, tool_name: tool };
        await showPage(await client.get<ListPage<Approval>>('/v1/approvals', query), columns);
      }),
    );
}

function addShow(group: Command): void {
  command(group, 'show', 'show an approval: the call, and what was found in it')
    .argument('<approval_id>')
    .action(
      asks(
        async ({ client, operands, show }) => {
          await show(await client.get<Approval>(apiPath('/v1/approvals/?', ...operands)));
        },
        { named },
      ),
    );
}

function addWatch(group: Command): void {
  command(group, 'watch', 'show each call that waits, and decide on it with one key')
    .option('--once', 'end when nothing waits any more')
    .action(
      asks<WatchOptions>(async ({ client, options, misused }) => {
        const { watchApprovals } = await import('../watch-approvals.ts');
        if (!process.stdin.isTTY) return misused('it needs a terminal; "approval list" needs none');
        await watchApprovals(client, options.once ?? false);
      }),
    );
}

function addDecisions(group: Command): void {
  addDecision(group, 'approve', 'let the identical call out, once', 'approved').option(
    '--window',
    'let it out as often as it comes while the grant lasts',
  );
  addDecision(group, 'deny', 'deny the call, and identical ones while the denial lasts', 'denied');
}

const addDecision = (
  group: Command,
  name: string,
  description: string,
  decision: 'approved' | 'denied',
): Command =>
  command(group, name, description)
    .argument('<approval_id>')
    .option('--note <text>', 'why; the agent reads it')
    .action(
      asks<DecideOptions>(
        async ({ client, operands, options, tell }) => {
          const approval = await client.send<Approval>(
            'POST',
            apiPath('/v1/approvals/?/decision', ...operands),
            {
              decision,
              note: options.note,
              scope: options.window ? 'window' : undefined,
            },
          );
          await tell(approval, `${approval.approval_id} is ${decision}.`);
        },
        { named },
      ),
    );
