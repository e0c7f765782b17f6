import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { Key, Listing, MintedKey, ShownEphemeralKey } from '../../api/answers.ts';
import { keyDigest, newKeyText } from '../../core/key-text.ts';
import {
  apiPath,
  askPage,
  asks,
  type CliCommand,
  collectTexts,
  command,
  integerArgument,
  listCommand,
  type PageOptions,
  showOne,
} from '../ask.ts';
import type { CommonOptions } from '../connection/client.ts';
import { note, print, toFacts, toJson } from '../output.ts';
import { comingTime, spanArgument } from '../times.ts';

interface MintOptions extends CommonOptions {
  readonly name?: string;
  readonly agent?: string;
  readonly env?: string;
  readonly permission?: readonly string[];
  readonly allow?: readonly string[];
  readonly expires?: string;
  readonly description?: string;
  readonly perMinute?: number;
  readonly requireNonce?: boolean;
}

interface EphemeralOptions extends CommonOptions {
  readonly ttl?: number;
  readonly maxUses?: number;
  readonly tool?: readonly string[];
  readonly verb?: readonly string[];
  readonly description?: string;
}

interface EditOptions extends CommonOptions {
  readonly name?: string;
  readonly description?: string;
  readonly allow?: readonly string[];
  readonly allowAny?: boolean;
}

interface ListOptions extends PageOptions {
  readonly type?: string;
  readonly status?: string;
}

/** Forms in which a point in time may be written. */
const timeForms = '30d, 2030-01-31 or 2030-01-31T12:00:00Z';

const named = { path: '/v1/keys', field: 'key_id', noun: 'key' };
const limitDefault = 100;
const columns = ['key_id', 'prefix', 'type', 'status', 'name', 'env_name', 'last_seen', 'calls_24h'];

/** Adds `postern key`, which mints, shows and revokes keys. A key's text is shown only when it is made. */
export function addKey(program: Command): void {
  const group = program.command('key').description('keys that agents and operators call with');
  command(group, 'mint', 'make a live key; its text is all that stands on standard output')
    .option('--name <name>', 'name for people and the audit log (default: yours and the time)')
    .option('--agent <agent_id>', 'agent that calls with it; an unknown one is made (default: a new one)')
    .option('--env <name>', "environment (default: the agent's)")
    .option('--permission <name>', 'what it may do; may be repeated (default: scan)', collectTexts)
    .option('--allow <cidr>', 'addresses that may use it; may be repeated (default: any)', collectTexts)
    .option('--expires <time>', `end of its life: ${timeForms} (default: none)`, comingTime)
    .option('--description <text>', 'free text')
    .option('--per-minute <n>', 'a rate of its own', integerArgument)
    .option('--require-nonce', 'refuse its API calls without timestamp and nonce')
    .action(asks(mint));
  command(group, 'ephemeral', 'make a key of POSTERN_KEY that ends by itself, and with that key')
    .option('--ttl <span>', 'its life: 90s, 10m, 8h, at most 1d (default: 10m)', spanArgument)
    .option('--max-uses <n>', 'calls that it may make (default: any number)', integerArgument)
    .option('--tool <name>', 'tools that it may call; may be repeated (default: any)', collectTexts)
    .option('--verb <verb>', 'READ, WRITE or ADMIN; may be repeated (default: any)', collectTexts)
    .option('--description <text>', 'free text')
    .action(asks(mintEphemeral, { as: 'agent' }));
  command(group, 'edit', 'change the name, the description or the addresses of a key')
    .argument('<key_id>')
    .option('--name <name>', 'name for people and the audit log')
    .option('--description <text>', 'free text')
    .option('--allow <cidr>', 'addresses that may use it; may be repeated', collectTexts)
    .option('--allow-any', 'any address may use it')
    .action(asks(edit, { named }));
  group
    .command('generate')
    .description('make the text of a key, and the hash of it for keys: of the configuration; asks no daemon')
    .action(generate);
  listCommand(group, 'list keys, newest first')
    .addOption(new Option('--type <type>', 'of this type').choices(['live', 'ephemeral']))
    .addOption(new Option('--status <status>', 'in this state').choices(['active', 'revoked', 'expired']))
    .action(asks(list));
  command(group, 'show', 'show a key: everything but its text')
    .argument('<key_id>')
    .action(showOne('/v1/keys/?', { named }));
  command(group, 'revoke', 'revoke a key, and its ephemeral ones, from the next call on')
    .argument('<key_id>')
    .action(asks(revoke, { named }));
}

async function mint({ client, options }: CliCommand<MintOptions>): Promise<void> {
  const minted = await client.send<MintedKey>('POST', '/v1/keys', toRequest(options));
  await print(`${options.json ? toJson(minted) : minted.key}\n`);
  if (!options.json) note(`It is ${minted.key_id}, of the agent ${minted.default_agent_id}.`);
}

/** Makes an ephemeral key with POSTERN_KEY. */
async function mintEphemeral({ client, options }: CliCommand<EphemeralOptions>): Promise<void> {
  const { ttl, maxUses, tool: tools, verb: verbs, description } = options;
  const scope = tools || verbs ? { tools, verbs } : undefined;
  const asked = { ttl_seconds: ttl, max_uses: maxUses, scope, description };
  const made = await client.send<ShownEphemeralKey>('POST', '/v1/keys/ephemeral', asked);
  await print(`${options.json ? toJson(made) : made.key}\n`);
  if (!options.json) note(`It is ${made.ephemeral_id}, and ends at ${made.expires_at}.`);
}

/** Changes the values that are given; the others stay. */
async function edit(asking: CliCommand<EditOptions>): Promise<void> {
  const { client, operands, misused, tell } = asking;
  const { name, description, allow, allowAny } = asking.options;
  if (allow && allowAny) return misused('either --allow or --allow-any');
  const change = { name, description, ip_allowlist: allowAny ? null : allow };
  if (Object.values(change).every((it) => it === undefined)) return misused('name what to change');
  const key = await client.send<Key>('PATCH', apiPath('/v1/keys/?', ...operands), change);
  await tell(key, `${key.key_id} is changed.`);
}

async function generate(_options: unknown, command: Command): Promise<void> {
  const key = newKeyText('live');
  const made = { key, hash: `sha256:${keyDigest(key)}` };
  await print(command.optsWithGlobals<CommonOptions>().json ? `${toJson(made)}\n` : toFacts(made));
}

async function revoke({ client, operands, tell }: CliCommand<CommonOptions>): Promise<void> {
  const key = await client.send<Key>('DELETE', apiPath('/v1/keys/?', ...operands));
  await tell(key, `${key.key_id} is revoked.`);
}

/** Lists keys. `--type` and `--status` search all pages, since each `postern run` leaves a key of its own. */
async function list({ client, options, misused, showPage }: CliCommand<ListOptions>): Promise<void> {
  const { type, status, limit = limitDefault } = options;
  if (type === undefined && status === undefined)
    return showPage(await client.get<Listing<Key>>('/v1/keys', askPage(options)), columns);
  if (options.cursor !== undefined) return misused('--cursor goes without --type and --status');
  const items: Key[] = [];
  for await (const page of client.pages<Key>('/v1/keys')) {
    items.push(...page.filter((it) => (type ?? it.type) === it.type && (status ?? it.status) === it.status));
    if (items.length > limit) break;
  }
  await showPage({ items: items.slice(0, limit), next_cursor: null }, columns);
  if (items.length > limit) note(`There are more than ${limit}: --limit`);
}

/** Returns a name that says who made the key, and when, to whoever finds it in a list. */
function defaultName(): string {
  const user = process.env['USER'] || process.env['LOGNAME'] || process.env['USERNAME'] || 'somebody';
  return `${user.slice(0, 40)} ${new Date().toISOString().slice(0, 16).replace('T', ' ')}`;
}

const toRequest = (options: MintOptions): Record<string, unknown> => ({
  name: options.name ?? defaultName(),
  default_agent_id: options.agent ?? randomUUID(),
  env_name: options.env,
  // An agent needs no other permission; others must be asked for.
  permissions: options.permission ?? ['scan'],
  ip_allowlist: options.allow,
  expires_at: options.expires,
  description: options.description,
  per_minute: options.perMinute,
  require_nonce: options.requireNonce,
});
