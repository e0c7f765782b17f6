import { type Command, InvalidArgumentError } from 'commander';
import type { Listing } from '../api/answers.ts';
import { AnswerError, type FieldMistake } from './connection/answer-error.ts';
import { type Client, type CommonOptions, openClient, type UrlQuery } from './connection/client.ts';
import type { Speaker } from './connection/secrets.ts';
import { agentList, beginning, type NamedBy, wholeId } from './connection/whole-id.ts';
import { note, print, printable, terminal, toFacts, toJson, toTable } from './output.ts';

/* Options and output that the commands of the control plane share. */

type Answer = Readonly<Record<string, unknown>>;

export interface CliCommand<Options> {
  readonly client: Client;
  /** The operands, in order. */
  readonly operands: readonly string[];
  readonly options: Options;
  /** Ends the command with exit code 2, for wrong usage that commander cannot know of. */
  misused(message: string): never;
  /** Shows one thing: with `--json` all of it, else its fields, a line each. */
  show(answer: Answer, fields?: readonly string[]): Promise<void>;
  /** Shows one page: with `--json` as it is, else as a table. Says how to get the next page. */
  showPage(page: Listing<Answer>, columns: readonly string[]): Promise<void>;
  /** Says what was done, in a sentence; with `--json` what was answered. */
  tell(answer: Answer, sentence: string): Promise<void>;
}

/** Returns the action of a command that asks the control plane. */
export const asks =
  <Options extends CommonOptions>(
    work: (asking: CliCommand<Options>) => Promise<void>,
    { as = 'operator', named }: { readonly as?: Speaker; readonly named?: NamedBy } = {},
  ) =>
  async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const typed = command.optsWithGlobals<Options & { readonly agent?: string }>();
    const client = await openClient(typed, as);
    // Tables show the beginnings of ids, and those are what people copy. Any other text the API refuses.
    const options = beginning.test(typed.agent ?? '')
      ? { ...typed, agent: await wholeId(client, agentList, typed.agent) }
      : typed;
    const misused = (message: string): never => command.error(`error: ${message}`, { exitCode: 2 });
    const [first, ...others] = command.args;
    const id = named ? await wholeId(client, named, first) : first;
    const asking: CliCommand<Options> = {
      client,
      operands: id === undefined ? [] : [id, ...others],
      options,
      misused,
      async show(answer, fields) {
        const facts = fields ? pick(answer, fields) : answer;
        await print(options.json ? `${toJson(answer)}\n` : toFacts(facts));
      },
      async showPage(page, columns) {
        if (options.json) return print(`${toJson(page)}\n`);
        await print(toTable(page.items, columns, terminal(options.wide)));
        if (page.next_cursor !== null) note(`There is more: --cursor ${printable(page.next_cursor)}`);
      },
      tell: (answer, sentence) => print(`${options.json ? toJson(answer) : printable(sentence)}\n`),
    };
    try {
      await work(asking);
    } catch (error) {
      if (
        !(error instanceof AnswerError) ||
        error.code !== 'VALIDATION_FAILED' ||
        error.mistakes.length === 0
      )
        throw error;
      misused(error.mistakes.map((it) => inTermsOf(command, it)).join('\nerror: '));
    }
  };

/** Options by the field of the API, where the two have different names. */
const optionNames: Readonly<Record<string, string>> = {
  default_agent_id: 'agent',
  agent_id: 'agent',
  tool_name: 'tool',
  env_name: 'env',
  permissions: 'permission',
  ip_allowlist: 'allow',
  expires_at: 'expires',
  q: 'search',
};

/** Returns a mistake of the request in terms of the option that was typed, where one was. */
function inTermsOf(command: Command, { path, message }: FieldMistake): string {
  const [field = '', part = ''] = path.split('.');
  const name = `--${optionNames[field] ?? field.replaceAll('_', '-')}`;
  const isOption = command.options.some((it) => it.long === name);
  // A message that is a whole sentence names its subject itself.
  const isWhole = path === '' || /^[A-Z]/.test(message);
  if (!isOption) return isWhole ? message : `${path} ${message}`;
  // The place in a list says nothing to whoever repeats an option.
  return /^\d*$/.test(part) ? `${name} ${message}` : `${name} (${part}) ${message}`;
}

const pick = (answer: Answer, fields: readonly string[]): Answer =>
  Object.fromEntries(fields.map((name) => [name, answer[name]]));

/** Adds a command to a group and returns it. The command acts for one tenant. */
export const command = (group: Command, usage: string, description: string): Command =>
  group
    .command(usage)
    .description(description)
    .option('--tenant <id>', 'tenant, where the admin secret acts for several');

export interface PageOptions extends CommonOptions {
  readonly limit?: number;
  readonly cursor?: string;
}

/** Adds a command that lists to a group, and returns it. */
export const listCommand = (group: Command, description: string, usage = 'list'): Command =>
  command(group, usage, description)
    .option('--limit <n>', 'how many, 1 to 1000 (default: 100)', integerArgument)
    .option('--cursor <text>', 'go on where an earlier list ended');

export const askPage = ({
  limit,
  cursor,
}: PageOptions): { limit: string | undefined; cursor: string | undefined } => ({
  limit: limit === undefined ? undefined : String(limit),
  cursor,
});

/** Returns the action of a command that lists what a path has. Without `--json`, `toRow` makes the rows. */
export const showList = <Options extends PageOptions, Item extends Answer = Answer>(
  path: string,
  columns: readonly string[],
  more: { readonly query?: (options: Options) => UrlQuery; readonly toRow?: (item: Item) => Answer } = {},
) =>
  asks<Options>(async ({ client, operands, options, showPage }) => {
    const query = { ...askPage(options), ...more.query?.(options) };
    const page = await client.get<Partial<Listing<Item>>>(apiPath(path, ...operands), query);
    const { items = [], next_cursor = null } = page;
    const rows = more.toRow && !options.json ? items.map(more.toRow) : items;
    await showPage({ ...page, items: rows, next_cursor }, columns);
  });

/** Returns the action of a command that shows what stands at a path of the API. */
export const showOne = <Options extends CommonOptions>(
  path: string,
  { query, named }: { readonly query?: (options: Options) => UrlQuery; readonly named?: NamedBy } = {},
) =>
  asks<Options>(
    async ({ client, operands, options, show }) =>
      show(await client.get<Answer>(apiPath(path, ...operands), query?.(options))),
    named ? { named } : {},
  );

/** Returns a path of the API, in which each `?` stands for one segment. Throws if it could lead elsewhere. */
export const apiPath = (template: string, ...segments: (string | undefined)[]): string => {
  let at = 0;
  return template.replace(/\?/g, () => {
    const segment = segments[at++] ?? '';
    if (segment === '' || segment === '.' || segment === '..') throw new Error('nothing can have that name.');
    return encodeURIComponent(segment);
  });
};

export function integerArgument(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** Collects the values of an option that may stand more than once. */
export const collectTexts = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  text,
];
