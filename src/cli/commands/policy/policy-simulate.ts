import type { Command } from 'commander';
import type { Simulation } from '../../../api/answers.ts';
import { asks, command, integerArgument } from '../../ask.ts';
import { note, print, toJson, toTable } from '../../output.ts';
import { readValidPolicies, toDocument } from '../../policy-files.ts';
import { MistakesError } from '../../problems.ts';
import { type FilterOptions, filterOf, withAnswerFilter } from '../../trace-filter.ts';
import { readYamlFile } from '../../yaml-file.ts';
import { differs } from './policy-diff.ts';

interface SimulateOptions extends FilterOptions {
  readonly calls?: string;
  readonly limit?: number;
  readonly only?: boolean;
  readonly exitCode?: boolean;
}

const columns = ['call', 'before', 'rule before', 'after', 'rule after'];

/** Adds `postern policy simulate`, which shows what the policies of files would change. It has no effect. */
export function addPolicySimulate(group: Command): void {
  const simulate = command(group, 'simulate', 'say which decisions the policies of files would change')
    .argument('<file...>', 'YAML or JSON; - for standard input')
    .option('--calls <file>', 'judge the calls of this file, a list of scan requests')
    .option(
      '--only',
      'judge by these policies alone (default: they take the place of those of the same name)',
    )
    .option(
      '--limit <n>',
      'of recorded calls, the newest so many, 1 to 10000 (default: 1000)',
      integerArgument,
    )
    .option('--exit-code', `end with ${differs} where an outcome would change`);
  withAnswerFilter(simulate)
    .addHelpText('after', '\nThe calls are those of --calls, or else recorded ones from --from on.')
    .action(
      asks<SimulateOptions>(async ({ client, operands, options, misused }) => {
        if ((options.calls === undefined) === (options.from === undefined))
          misused('give either --calls or --from.');
        const answer = await client.send<Simulation>('POST', '/v1/policies/simulate', {
          policies: (await readValidPolicies(operands)).map(toDocument),
          only: options.only ?? false,
          ...(options.calls === undefined
            ? { traces: tracesOf(options) }
            : { calls: await readCalls(options.calls) }),
        });
        for (const warning of answer.warnings) note(`warning: ${warning}`);
        await print(options.json ? `${toJson(answer)}\n` : toText(answer));
        if (options.exitCode && answer.changed.length > 0) process.exitCode = differs;
        if (!options.json) note(summaryOf(answer));
      }),
    );
}

function tracesOf({ limit, ...options }: SimulateOptions): object {
  const { from, to, ...filter } = filterOf(options);
  return { since: from, until: to, ...filter, limit };
}

async function readCalls(file: string): Promise<readonly unknown[]> {
  const { value } = await readYamlFile(file);
  if (!Array.isArray(value))
    throw new MistakesError([{ file, line: 1, path: '', message: 'must be a list of calls' }]);
  return value;
}

/** Returns a row for each outcome that changes, then a row for each call that cannot be told. */
function toText({ changed, undetermined }: Simulation): string {
  const rows = changed.map(({ index, trace_id, before, after }) => ({
    call: trace_id ?? `call ${index}`,
    before: before.decision,
    'rule before': toRule(before),
    after: after.decision,
    'rule after': toRule(after),
  }));
  const table = rows.length > 0 ? toTable(rows, columns) : 'Nothing changes.\n';
  return undetermined.length > 0 ? `${table}\n${toTable(undetermined, ['trace_id', 'because'])}` : table;
}

const toRule = ({
  policy_name: policy,
  rule_id: rule,
  reason_codes: reasons,
}: Simulation['changed'][number]['after']): string =>
  policy === null ? reasons.join(', ') : `${policy}/${rule}`;

const summaryOf = ({ evaluated, changed, unchanged, undetermined }: Simulation): string =>
  `${evaluated} judged: ${changed.length} change, ${unchanged} do not, ${undetermined.length} cannot be told.`;
