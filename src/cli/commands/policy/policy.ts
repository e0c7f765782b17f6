import type { Command } from 'commander';
import { apiPath, askPage, asks, command, listCommand, type PageOptions } from '../../ask.ts';
import type { ListPage } from '../../connection/client.ts';
import type { Policy } from '../../policy-changes.ts';
import { addPolicyApply } from './policy-apply.ts';
import { addPolicyDiff } from './policy-diff.ts';
import { addPolicySimulate } from './policy-simulate.ts';
import { addPolicyTest } from './policy-test.ts';
import { addPolicyValidate } from './policy-validate.ts';

interface EnvOptions extends PageOptions {
  readonly env?: string;
}

const columns = ['name', 'env_name', 'version', 'mode', 'rules', 'source', 'policy_id'];
const versionColumns = ['version', 'mode', 'rules', 'created_at', 'created_by', 'archived_at'];
const forEnvironment = ['--env <name>', 'for this environment (default: the one for all)'] as const;

/** `postern policy`: the policies of a running daemon, and files that become some. */
export function addPolicy(program: Command): void {
  const group = program.command('policy').description('policies, by which calls are judged');

  addPolicyValidate(group);
  addPolicyTest(group);
  addPolicyDiff(group);
  addPolicyApply(group);
  addPolicySimulate(group);

  listCommand(group, 'list the latest version of each policy').action(
    asks<PageOptions>(async ({ client, options, showPage }) => {
      const page = await client.get<ListPage<Policy>>('/v1/policies', askPage(options));
      await showPage(options.json ? page : counted(page), columns);
    }),
  );

  command(group, 'show', 'show the latest version of a policy')
    .alias('by-name')
    .argument('<name>')
    .option(...forEnvironment)
    .action(
      asks<EnvOptions>(async ({ client, operands, options: { env }, show }) =>
        show(await client.get<Policy>(apiPath('/v1/policies/by-name/?', ...operands), { env })),
      ),
    );

  listCommand(group, 'list all versions of a policy, newest first', 'versions')
    .argument('<name>')
    .option(...forEnvironment)
    .action(
      asks<EnvOptions>(async ({ client, operands, options, showPage }) => {
        const query = { ...askPage(options), env: options.env };
        const page = await client.get<ListPage<Policy>>(
          apiPath('/v1/policies/by-name/?/versions', ...operands),
          query,
        );
        await showPage(options.json ? page : counted(page), versionColumns);
      }),
    );

  command(group, 'archive', 'take a policy out of effect; its versions stay')
    .argument('<name>')
    .option(...forEnvironment)
    .action(
      asks<EnvOptions>(async ({ client, operands: [name], options: { env }, tell }) => {
        const answer = await client.send<Policy>(
          'DELETE',
          apiPath('/v1/policies/by-name/?', name),
          undefined,
          {
            env,
          },
        );
        await tell(answer, `${name} is archived.`);
      }),
    );
}

const counted = (page: ListPage<Policy>): ListPage<Record<string, unknown>> => ({
  ...page,
  items: page.items.map((it) => ({ ...it, rules: it.rules.length })),
});
