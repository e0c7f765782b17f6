import { type Command, Option } from 'commander';
import { asks, command, listCommand, type PageOptions, pageOf, path } from '../ask.ts';
import type { CommonOptions, Page } from '../client.ts';

type Approval = Readonly<Record<string, unknown>> & { readonly approval_id: string; readonly status: string };

interface ListOptions extends PageOptions {
  readonly status?: string;
}

interface DecideOptions extends CommonOptions {
  readonly note?: string;
  readonly window?: boolean;
}

const columns = ['approval_id', 'status', 'agent_name', 'method', 'url', 'reason_codes', 'expires_at'];

/** `postern approval`: calls that wait for a person. */
export function addApproval(program: Command): void {
  const group = program.command('approval').description('calls that are held until somebody decides');

  listCommand(group, 'list approvals, newest first')
    .addOption(
      new Option('--status <status>', 'these alone').choices(['pending', 'approved', 'denied', 'expired']),
    )
    .action(
      asks<ListOptions>(async ({ client, options, showPage }) => {
        const query = { ...pageOf(options), status: options.status };
        await showPage(await client.get<Page<Approval>>('/v1/approvals', query), columns);
      }),
    );

  const addDecision = (name: string, description: string, decision: 'approved' | 'denied'): Command =>
    command(group, name, description)
      .argument('<approval_id>')
      .option('--note <text>', 'why; the agent reads it')
      .action(
        asks<DecideOptions>(async ({ client, operands, options, tell }) => {
          const approval = await client.send<Approval>(
            'POST',
            path('/v1/approvals/?/decision', ...operands),
            {
              decision,
              note: options.note,
              scope: options.window ? 'window' : undefined,
            },
          );
          await tell(approval, `${approval.approval_id} is ${decision}.`);
        }),
      );
  addDecision('approve', 'let the identical call out, once', 'approved').option(
    '--window',
    'let it out as often as it comes while the grant lasts',
  );
  addDecision('deny', 'deny the call, and identical ones while the denial lasts', 'denied');
}
