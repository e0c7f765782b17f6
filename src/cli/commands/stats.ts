import { type Command, Option } from 'commander';
import type { Agent, CountedNames, Listing, Stats } from '../../api/answers.ts';
import { asks, command } from '../ask.ts';
import { AnswerError } from '../connection/answer-error.ts';
import type { Client, CommonOptions } from '../connection/client.ts';
import { print, toFacts, toJson } from '../output.ts';
import { pastTime } from '../times.ts';

interface StatsOptions extends CommonOptions {
  readonly interval: string;
  readonly from?: string;
  readonly to?: string;
  readonly top: string;
}

const kinds = ['decisions', 'reasons', 'bands', 'tools', 'agents'] as const;

const toLine = ({ names, other }: CountedNames): string =>
  [...names.map(({ name, count }) => `${name} ${count}`), ...(other > 0 ? [`others ${other}`] : [])].join(
    ', ',
  );

/** Returns the counts with names of agents. Ids stay where the key may not see agents, and beyond 1,000. */
async function withNames(client: Client, agents: CountedNames): Promise<CountedNames> {
  const { items } = await client
    .get<Listing<Agent>>('/v1/agents', { limit: '1000' })
    .catch((error: unknown): { readonly items: readonly Agent[] } => {
      if (error instanceof AnswerError) return { items: [] };
      throw error;
    });
  const named = new Map(items.map(({ agent_id, name }) => [agent_id, name]));
  const toName = ({ name: id, count }: CountedNames['names'][number]) => ({
    name: named.get(id) ?? id,
    count,
  });
  return { ...agents, names: agents.names.map(toName) };
}

/** Adds `postern stats`, which tells how many calls there were, and what they were. */
export function addStats(program: Command): void {
  command(program, 'stats', 'how many calls there were, by decision, reason, band, tool and agent')
    .addOption(
      new Option('--interval <name>', 'of the series in --json')
        .choices(['minute', 'hour', 'day'])
        .default('hour'),
    )
    .option('--from <time>', 'not before: 1h (ago), 2030-01-31 (default: a day)', pastTime)
    .option('--to <time>', 'before, in the same forms', pastTime)
    .option('--top <n>', 'names of each kind', '10')
    .action(
      asks<StatsOptions>(async ({ client, options }) => {
        const { interval, from, to, top } = options;
        const stats = await client.get<Stats>('/v1/stats', { interval, from, to, top });
        const agents = options.json ? stats.agents : await withNames(client, stats.agents);
        const counted = { ...stats, agents };
        const facts = {
          from: stats.from,
          to: stats.to,
          calls: stats.total,
          ...Object.fromEntries(kinds.map((kind) => [kind, toLine(counted[kind])])),
        };
        await print(options.json ? `${toJson(stats)}\n` : toFacts(facts));
      }),
    );
}
