import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';

/*
 * `postern credential`: what the vault of a running daemon holds. A secret is read from standard input or a file and never from the command
 * line, which every process of the machine can read; and nothing here can show one again.
 */

interface Options {
  readonly url?: string;
  readonly json?: boolean;
  readonly tenant?: string;
}

interface SetOptions extends Options {
  readonly type: string;
  readonly username?: string;
  readonly header?: string;
  readonly fields?: boolean;
  readonly file?: string;
}

interface Credential {
  readonly name: string;
  readonly tenant_id: string;
  readonly type: string;
  readonly changed_at: string;
}

const types = ['bearer', 'basic', 'headers', 'query'];
const secretBytesMax = 131_072;

export function addCredential(program: Command): void {
  const group = program.command('credential').description('credentials of the vault, which agents never see');
  const add = (name: string, description: string): Command =>
    group
      .command(name)
      .description(description)
      .option('--tenant <id>', 'tenant, where the admin secret acts for several');
  const withSecret = (command: Command): Command =>
    command
      .argument('<name>', 'name, as credentials[] or inbound[] of the configuration have it')
      .option('--username <name>', 'type basic: the user name')
      .option('--header <name>', 'type headers: the one header that is sent')
      .option('--fields', 'what is read is a JSON object with all fields of the type')
      .option('--file <file>', 'read the secret from this file instead of standard input');
  const run = <T extends Options>(command: Command): T => command.optsWithGlobals<T>();

  withSecret(add('set', 'put a credential into the vault; the secret is read from standard input'))
    .addOption(new Option('--type <type>', 'how it is sent').choices(types).default('bearer'))
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = run<SetOptions>(command);
      tell(options, await put(options, name, options.type), 'is set');
    });

  withSecret(
    add('rotate', 'replace the secret of a credential; the old one is gone with the next call'),
  ).action(async (name: string, _options: unknown, command: Command) => {
    const options = run<SetOptions>(command);
    const standing = (await list(options)).find((it) => it.name === name);
    if (!standing)
      throw new Error(`there is no credential ${name} in the vault; "credential set" makes one.`);
    tell(options, await put(options, name, standing.type), 'is rotated');
  });

  add('list', 'names and types of the credentials in the vault').action(
    async (_options: unknown, command: Command) => {
      const options = run<Options>(command);
      const items = await list(options);
      if (options.json) console.log(JSON.stringify({ items }));
      else for (const it of items) console.log(`${it.name}\t${it.type}\t${it.tenant_id}\t${it.changed_at}`);
    },
  );

  add('revoke', 'take a credential out of the vault')
    .argument('<name>')
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = run<Options>(command);
      tell(options, (await ask(options, 'DELETE', pathOf(name))) as Credential, 'is revoked');
    });
}

function tell({ json }: Options, answer: { name: string }, what: string): void {
  console.log(json ? JSON.stringify(answer) : `${answer.name} ${what}.`);
}

const put = async (options: SetOptions, name: string, type: string): Promise<Credential> =>
  (await ask(options, 'PUT', pathOf(name), {
    ...(options.tenant === undefined ? {} : { tenant_id: options.tenant }),
    type,
    secret: readFields(options, type),
  })) as Credential;

const list = async (options: Options): Promise<readonly Credential[]> =>
  ((await ask(options, 'GET', '/v1/credentials')) as { items: Credential[] }).items;

const pathOf = (name: string): string => `/v1/credentials/${encodeURIComponent(name)}`;

function readFields({ file, fields, username, header }: SetOptions, type: string): unknown {
  if (file === undefined && process.stdin.isTTY) console.error('Type the secret, then Enter and Ctrl-D:');
  const bytes = readFileSync(file ?? 0);
  if (bytes.length > secretBytesMax) throw new Error(`a secret may have ${secretBytesMax} bytes.`);
  const value = bytes.toString('utf8').replace(/\r?\n$/, '');
  if (value === '') throw new Error('the secret is empty; give it on standard input or with --file.');
  if (fields) return parseFields(value);
  if (type === 'basic') {
    if (username === undefined) throw new Error('type basic needs --username.');
    return { username, password: value };
  }
  if (type !== 'headers') return { value };
  if (header === undefined) throw new Error('type headers needs --header, or --fields.');
  return { values: { [header]: value } };
}

function parseFields(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw new Error('what was read is no JSON.');
  }
}

const requestTimeoutMs = 30_000;

async function ask(options: Options, method: string, path: string, body?: unknown): Promise<unknown> {
  const authorization = process.env['SERVICE_API_KEYS_ADMIN_SECRET'] || process.env['POSTERN_KEY'];
  if (!authorization)
    throw new Error('set SERVICE_API_KEYS_ADMIN_SECRET, or POSTERN_KEY to a key with credentials:write.');
  const url = new URL(path, options.url ?? process.env['POSTERN_URL'] ?? 'http://127.0.0.1:8081');
  if (body === undefined && options.tenant !== undefined) url.searchParams.set('tenant_id', options.tenant);
  const response = await fetch(url, {
    method,
    redirect: 'error',
    signal: AbortSignal.timeout(requestTimeoutMs),
    headers: { authorization: `Bearer ${authorization}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { detail?: string; errors?: { path: string; message: string }[] };
  if (response.ok) return answer;
  const errors = (answer.errors ?? []).map((it) => `\n  ${it.path}: ${it.message}`).join('');
  throw new Error(`${answer.detail ?? `the daemon answered ${response.status}`}${errors}`);
}
