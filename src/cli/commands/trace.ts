import type { Command } from 'commander';
import { asks, command, integer, listCommand, type PageOptions, pageOf, path } from '../ask.ts';
import type { CommonOptions, Page } from '../client.ts';
import { followTraces, type Trace } from '../follow-traces.ts';
import { print, toJson, toLine } from '../output.ts';

interface FilterOptions extends CommonOptions {
  readonly agent?: string;
  readonly tool?: string;
  readonly operation?: string;
  readonly decision?: string;
  readonly reason?: string;
  readonly band?: string;
  readonly class?: string;
  readonly tag?: string;
  readonly from?: string;
  readonly to?: string;
  readonly search?: string;
}

const columns = ['at', 'decision', 'risk_band', 'agent_name', 'method', 'url', 'reason_codes', 'trace_id'];

/** `postern trace`: every call, decided or refused. */
export function addTrace(program: Command): void {
  const group = program.command('trace').description('what became of calls');

  withFilter(listCommand(group, 'list traces, newest first')).action(
    asks<FilterOptions & PageOptions>(async ({ client, options, showPage }) => {
      const query = { ...filterOf(options), ...pageOf(options) };
      await showPage(await client.get<Page<Trace>>('/v1/traces', query), columns);
    }),
  );

  command(group, 'show', 'show a trace, with what was found in the answers to the call')
    .argument('<trace_id>')
    .action(
      asks(async ({ client, operands, show }) =>
        show(await client.get<Trace>(path('/v1/traces/?', ...operands))),
      ),
    );

  withFilter(command(group, 'tail', 'show calls as they come in, until it is interrupted'))
    .option('--last <n>', 'begin with so many that were before, up to 1000', integer, 10)
    .action(
      asks<FilterOptions & { last: number }>(async ({ client, options }) => {
        for await (const traces of followTraces(client, filterOf(options), Math.min(options.last, 1000)))
          for (const trace of traces)
            await print(options.json ? `${toJson(trace)}\n` : toLine(trace, columns));
      }),
    );

  withFilter(
    command(group, 'export', 'write traces to standard output, newest first, one JSON object a line'),
  ).action(
    asks<FilterOptions>(async ({ client, options }) => {
      for await (const traces of client.pages<Trace>('/v1/traces', filterOf(options)))
        for (const trace of traces) await print(`${toJson(trace)}\n`);
    }),
  );
}

const withFilter = (it: Command): Command =>
  it
    .option('--agent <uuid>', 'of this agent')
    .option('--tool <name>', 'of this tool')
    .option('--operation <name>', 'of this operation')
    .option('--decision <decision>', 'ALLOW, DENY, SANITIZE or REQUIRE_APPROVAL')
    .option('--reason <code>', 'with this reason code')
    .option('--band <band>', 'LOW, MEDIUM, HIGH or CRITICAL')
    .option('--class <class>', 'SECRETS, PII, PHI or INTERNAL')
    .option('--tag <tag>', 'with this tag')
    .option('--from <time>', 'not before, as 2030-01-31T12:00:00Z')
    .option('--to <time>', 'before')
    .option('--search <text>', 'with this text anywhere, in any case');

const filterOf = ({ agent, tool, search, ...rest }: FilterOptions) => ({
  agent_id: agent,
  tool_name: tool,
  operation: rest.operation,
  decision: rest.decision,
  reason: rest.reason,
  band: rest.band,
  class: rest.class,
  tag: rest.tag,
  from: rest.from,
  to: rest.to,
  q: search,
});
