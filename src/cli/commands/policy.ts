import type { Command } from 'commander';
import { asks, command, listCommand, type PageOptions, pageOf, path } from '../ask.ts';
import type { Client, CommonOptions, Page } from '../client.ts';
import { readInput } from '../input.ts';
import { note, print, printable, toJson } from '../output.ts';

type Policy = Readonly<Record<string, unknown>> & { readonly name: string; readonly version: number };

interface Judged {
  readonly warnings: readonly string[];
}

const fileBytesMax = 4 * 1024 * 1024;
const documentsMax = 1000;
const aliasesMax = 50;
const columns = ['name', 'env_name', 'version', 'mode', 'rules', 'policy_id'];

/** `postern policy`: the policies of a running daemon. */
export function addPolicy(program: Command): void {
  const group = program.command('policy').description('policies, by which calls are judged');

  listCommand(group, 'list the latest version of each policy').action(
    asks<PageOptions>(async ({ client, options, showPage }) => {
      const page = await client.get<Page<Policy>>('/v1/policies', pageOf(options));
      const counted = page.items.map((it) => ({ ...it, rules: (it['rules'] as unknown[]).length }));
      await showPage(options.json ? page : { ...page, items: counted }, columns);
    }),
  );

  command(group, 'show', 'show the latest version of a policy')
    .alias('by-name')
    .argument('<name>')
    .option('--env <name>', 'for this environment (default: the one for all)')
    .action(
      asks<CommonOptions & { env?: string }>(async ({ client, operands, options: { env }, show }) =>
        show(await client.get<Policy>(path('/v1/policies/by-name/?', ...operands), { env })),
      ),
    );

  command(group, 'validate', 'say what is wrong with a policy file, as the daemon sees it; changes nothing')
    .argument('<file>', 'YAML or JSON; - for standard input')
    .action(
      asks(async ({ client, operands: [file], options }) => {
        for (const document of await readPolicies(file)) {
          const judged = await validate(client, document);
          await tellJudged(judged, `${nameOf(document)} is valid.`, options);
        }
      }),
    );

  command(group, 'apply', 'add the next version of a policy; the next call is judged by it')
    .argument('<file>', 'YAML or JSON; - for standard input')
    .action(
      asks(async ({ client, operands: [file], options }) => {
        const documents = await readPolicies(file);
        // All of them, before the first one is applied.
        for (const document of documents) await validate(client, document);
        for (const document of documents) {
          const policy = await client.send<Policy & Judged>('POST', '/v1/policies/apply', document);
          const change = policy['unchanged'] ? ', unchanged' : '';
          await tellJudged(
            policy,
            `${printable(policy.name)} is applied: version ${policy.version}${change}.`,
            options,
          );
        }
      }),
    );
}

/** Of several policies it must be said which one is wrong. */
async function validate(client: Client, document: unknown): Promise<Judged> {
  try {
    return await client.send('POST', '/v1/policies/validate', document);
  } catch (error) {
    throw new Error(`${nameOf(document)}: ${(error as Error).message}`, { cause: error });
  }
}

/** One line a policy, also as JSON: a file may hold several. */
async function tellJudged(judged: Judged, sentence: string, { json }: CommonOptions): Promise<void> {
  await print(`${json ? toJson(judged) : sentence}\n`);
  if (!json) for (const warning of judged.warnings) note(`warning: ${printable(warning)}`);
}

const nameOf = (document: unknown): string => printable(String(Reflect.get(Object(document), 'name')));

/** The documents of a file. Throws with file and line where it cannot be read. */
async function readPolicies(named: string | undefined): Promise<readonly unknown[]> {
  const file = named === '-' ? undefined : named;
  const text = (await readInput(file, fileBytesMax)).toString('utf8');
  const { parseAllDocuments } = await import('yaml');
  const parsed = parseAllDocuments(text, { logLevel: 'error' });
  const documents = Array.isArray(parsed) ? parsed : [];
  const mistakes = documents
    .flatMap((it) => it.errors)
    .map((it) => `\n  ${printable(it.message.split('\n')[0] ?? '')}`);
  if (mistakes.length > 0) throw new Error(`${named} is not valid YAML:${mistakes.join('')}`);
  const policies = documents
    .map((it) => it.toJS({ maxAliasCount: aliasesMax }) as unknown)
    .filter((it) => it !== null);
  if (policies.length === 0) throw new Error(`${named} has no policy.`);
  if (policies.length > documentsMax) throw new Error(`${named} has more than ${documentsMax} policies.`);
  return policies;
}
