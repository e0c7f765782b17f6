import { type Command, InvalidArgumentError } from 'commander';
import { asks, command } from '../../ask.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readInput } from '../../input.ts';

interface ExplainOptions extends CommonOptions {
  readonly env?: string;
  readonly header?: Readonly<Record<string, string>>;
}

const bodyBytesMax = 64 * 1024 * 1024;
const fields = [
  'decision',
  'would_be',
  'reason_codes',
  'explanation',
  'tool_name',
  'operation',
  'risk_score',
  'risk_band',
  'classifications',
  'findings',
  'policy_name',
  'matched_rules',
  'not_considered',
];

/** Adds `postern explain`, which says what the gateway would decide about a call, and why, without effect. */
export function addExplain(program: Command): void {
  command(
    program,
    'explain',
    'what the gateway would say of a call of POSTERN_KEY, and why; without any effect',
  )
    .argument('<method>')
    .argument('<url>')
    .argument('[body]', 'text, or - for standard input')
    .option('--env <name>', 'environment that the call names')
    .option('--header <name: value>', 'header field of the call; may be repeated', collectHeader)
    .action(
      asks<ExplainOptions>(
        async ({ client, operands: [method, url, body], options, show }) => {
          const answer = await client.send<Record<string, unknown>>('POST', '/v1/explain', {
            method,
            url,
            body: body === '-' ? (await readInput(undefined, bodyBytesMax)).toString('utf8') : body,
            headers: options.header,
            env: options.env,
          });
          await show(
            answer,
            fields.filter((it) => answer[it] !== undefined),
          );
        },
        { as: 'agent' },
      ),
    );
}

function collectHeader(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value = ''] = /^([^:]+):(.*)$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError('It must be written as "Name: value".');
  return { ...before, [name]: value.trim() };
}
