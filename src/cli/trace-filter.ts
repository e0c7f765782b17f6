import type { Command } from 'commander';
import type { CommonOptions } from './connection/client.ts';
import { pastTime } from './times.ts';

export interface FilterOptions extends CommonOptions {
  readonly agent?: string;
  readonly tool?: string;
  readonly operation?: string;
  readonly decision?: string;
  readonly reason?: string;
  readonly band?: string;
  readonly class?: string;
  readonly tag?: string;
  readonly answer?: string;
  readonly from?: string;
  readonly to?: string;
  readonly search?: string;
}

/** Adds the options by which calls are chosen, which are the same for all commands. */
export const withFilter = (it: Command): Command =>
  it
    .option('--agent <agent_id>', 'of this agent')
    .option('--tool <name>', 'of this tool')
    .option('--operation <name>', 'of this operation')
    .option('--decision <decision>', 'ALLOW, DENY, SANITIZE or REQUIRE_APPROVAL')
    .option('--reason <code>', 'with this reason code')
    .option('--band <band>', 'LOW, MEDIUM, HIGH or CRITICAL')
    .option('--class <class>', 'SECRETS, PII, PHI or INTERNAL')
    .option('--tag <tag>', 'with this tag')
    .option('--from <time>', 'not before: 1h (ago), 2030-01-31 or 2030-01-31T12:00:00Z', pastTime)
    .option('--to <time>', 'before, in the same forms', pastTime)
    .option('--search <text>', 'with this text anywhere, in any case');

/** Adds the options by which calls are chosen, and one for calls that have had their answers. */
export const withAnswerFilter = (it: Command): Command =>
  withFilter(it).option(
    '--answer <kind>',
    'whose answer gave orders to the agent (injection), was withheld (blocked) or cut (redacted), or never came (failed)',
  );

/** Returns the chosen options as the query of the API has them. */
export const filterOf = ({ agent, tool, search, ...rest }: FilterOptions) => ({
  agent_id: agent,
  tool_name: tool,
  operation: rest.operation,
  decision: rest.decision,
  reason: rest.reason,
  band: rest.band,
  class: rest.class,
  tag: rest.tag,
  answer: rest.answer,
  from: rest.from,
  to: rest.to,
  q: search,
});
