import type { Command } from 'commander';
import { apiPath, asks, command, listCommand, type PageOptions, showList, showOne } from '../../ask.ts';
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

const query = ({ env }: EnvOptions) => ({ env });
const toRow = (it: Policy) => ({ ...it, rules: it.rules.length });

/** Adds `postern policy`, for the policies of a running daemon, and for files that become policies. */
export function addPolicy(program: Command): void {
  const group = program.command('policy').description('policies, by which calls are judged');

  addPolicyValidate(group);
  addPolicyTest(group);
  addPolicyDiff(group);
  addPolicyApply(group);
  addPolicySimulate(group);

  listCommand(group, 'list the latest version of each policy').action(
    showList('/v1/policies', columns, { toRow }),
  );

  command(group, 'show', 'show the latest version of a policy')
    .alias('by-name')
    .argument('<name>')
    .option(...forEnvironment)
    .action(showOne<EnvOptions>('/v1/policies/by-name/?', { query }));

  listCommand(group, 'list all versions of a policy, newest first', 'versions')
    .argument('<name>')
    .option(...forEnvironment)
    .action(showList('/v1/policies/by-name/?/versions', versionColumns, { query, toRow }));

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
