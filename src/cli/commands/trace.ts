import { type Command, Option } from 'commander';
import { asks, command, integerArgument, listCommand, type PageOptions, showList, showOne } from '../ask.ts';
import { followTraces } from '../follow-traces.ts';
import { print, toJson, toSafeFile, toSafeJson, toTableLine } from '../output.ts';
import { type FilterOptions, filterOf, withAnswerFilter, withFilter } from '../trace-filter.ts';

const named = { path: '/v1/traces', field: 'trace_id', noun: 'call' };
const columns = ['at', 'decision', 'risk_band', 'agent_name', 'method', 'url', 'reason_codes', 'trace_id'];

/** Adds `postern trace`, which shows every call, decided or refused. */
export function addTrace(program: Command): void {
  const group = program.command('trace').description('what became of calls');

  withAnswerFilter(listCommand(group, 'list traces, newest first')).action(
    showList<FilterOptions & PageOptions>('/v1/traces', columns, { query: filterOf }),
  );

  command(group, 'show', 'show a trace, with what was found in the answers to the call')
    .argument('<trace_id>')
    .action(showOne('/v1/traces/?', { named }));

  withFilter(command(group, 'tail', 'show calls as they come in, until it is interrupted'))
    .option('--last <n>', 'begin with so many that were before, up to 1000', integerArgument, 10)
    .action(
      asks<FilterOptions & { last: number }>(async ({ client, options }) => {
        for await (const traces of followTraces(client, filterOf(options), Math.min(options.last, 1000)))
          for (const trace of traces)
            await print(options.json ? `${toJson(trace)}\n` : toTableLine(trace, columns));
      }),
    );

  withAnswerFilter(command(group, 'export', 'write traces to standard output, newest first'))
    .addOption(
      new Option('--format <format>', 'ndjson has one JSON object a line, ocsf one event of OCSF a line')
        .choices(['ndjson', 'csv', 'ocsf'])
        .default('ndjson'),
    )
    .action(
      asks<FilterOptions & { format: string }>(async ({ client, options }) => {
        const decoder = new TextDecoder();
        const query = { ...filterOf(options), format: options.format };
        const toSafe = options.format === 'csv' ? toSafeFile : toSafeJson;
        for await (const chunk of client.download('/v1/traces/export', query))
          await print(toSafe(decoder.decode(chunk, { stream: true })));
      }),
    );
}
