import { type Command, InvalidArgumentError } from 'commander';
import type { RiskReplay } from '../../api/answers.ts';
import { asks, collectTexts, command, integerArgument } from '../ask.ts';
import type { CommonOptions } from '../connection/client.ts';
import { note, print, toJson, toTable } from '../output.ts';
import { pastTime } from '../times.ts';

type Numbers = Readonly<Record<string, number>>;

interface ReplayOptions extends CommonOptions {
  readonly weights?: Numbers;
  readonly bands?: Numbers;
  readonly trace?: readonly string[];
  readonly agent?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: number;
}

/** Adds `postern risk`, which shows what weights and bands make of calls. */
export function addRisk(program: Command): void {
  const group = program.command('risk').description('how risky calls are');

  command(group, 'replay', 'score recorded calls with other weights and bands; nothing is changed')
    .option('--weights <list>', 'by engine, as classifier=0.5,semantic=0; others are as they are', toNumbers)
    .option('--bands <list>', 'from which score on, as HIGH=0.4,CRITICAL=0.7', toNumbers)
    .option('--trace <id>', 'this trace; may be repeated', collectTexts)
    .option('--agent <agent_id>', 'of this agent')
    .option('--from <time>', 'not before: 1h (ago), 2030-01-31 or 2030-01-31T12:00:00Z', pastTime)
    .option('--to <time>', 'before, in the same forms', pastTime)
    .option('--limit <n>', 'the newest so many, 1 to 10000 (default: 1000)', integerArgument)
    .action(
      asks<ReplayOptions>(async ({ client, options }) => {
        const { weights, bands, trace: trace_ids, agent: agent_id, from, to, limit } = options;
        const wanted = { weights, bands, trace_ids, agent_id, from, to, limit };
        const replay = await client.send<RiskReplay>('POST', '/v1/risk/replay', wanted);
        await print(options.json ? `${toJson(replay)}\n` : toText(replay));
        if (!options.json) note(summaryOf(replay));
      }),
    );
}

/** Returns a row for each band, then a row for each call whose risk changes. */
function toText({ bands, changed }: RiskReplay): string {
  const { before, after }: Readonly<Record<'before' | 'after', Numbers>> = bands;
  const perBand = Object.keys(before).map((band) => ({ band, before: before[band], after: after[band] }));
  const calls = changed.map((it) => ({
    call: it.trace_id,
    before: toCell(it.before),
    after: toCell(it.after),
  }));
  const table = toTable(perBand, ['band', 'before', 'after']);
  return calls.length === 0 ? table : `${table}\n${toTable(calls, ['call', 'before', 'after'])}`;
}

const toCell = ({ risk_score, risk_band }: RiskReplay['changed'][number]['after']): string =>
  `${risk_score.toFixed(3)} ${risk_band}`;

const summaryOf = ({ traces, changed_total, changed, undetermined }: RiskReplay): string =>
  `${traces} calls: ${changed_total} change${changed_total > changed.length ? ` (${changed.length} shown)` : ''}, ${undetermined} cannot be told.`;

/** Reads a list such as `name=0.5,other=1`. The daemon knows which names there are. */
function toNumbers(text: string): Numbers {
  const pairs = text.split(',').map((pair): [string, number] => {
    const [, name, number] = /^([\w-]{1,64})=(\d(?:\.\d{1,9})?)$/.exec(pair.trim()) ?? [];
    if (name === undefined || number === undefined)
      throw new InvalidArgumentError('It must be a list such as classifier=0.5,semantic=0.');
    return [name, Number(number)];
  });
  return Object.fromEntries(pairs);
}
