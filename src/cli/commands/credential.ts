import { type Command, Option } from 'commander';
import type { Credential, Listing, Rekeyed } from '../../api/answers.ts';
import { apiPath, asks, type CliCommand, command, showList } from '../ask.ts';
import type { CommonOptions } from '../connection/client.ts';
import { readHidden, readInput } from '../input.ts';

/*
 * `postern credential` manages what the vault of a running daemon holds. A secret is read from standard input
 * or a file. It never comes from the command line, which every process of the machine can read. And no
 * command here can show a secret again.
 */

interface SecretOptions extends CommonOptions {
  readonly type?: string;
  readonly username?: string;
  readonly header?: string;
  readonly fields?: boolean;
  readonly file?: string;
}

const types = ['bearer', 'basic', 'headers', 'query', 'oauth2_client_credentials', 'aws_sigv4'];
const secretBytesMax = 131_072;
const columns = ['name', 'type', 'tenant_id', 'source', 'uses', 'last_used_at', 'changed_at'];

const withSecret = (group: Command, name: string, description: string): Command =>
  command(group, name, description)
    .argument('<name>', 'name, as credentials[] or inbound[] of the configuration have it')
    .option('--username <name>', 'type basic: the user name')
    .option('--header <name>', 'type headers: the one header that is sent')
    .option('--fields', 'what is read is a JSON object with all fields of the type')
    .option('--file <file>', 'read the secret from this file instead of standard input');

export function addCredential(program: Command): void {
  const group = program.command('credential').description('credentials of the vault, which agents never see');
  withSecret(group, 'set', 'put a credential into the vault; the secret is read from standard input')
    .addOption(new Option('--type <type>', 'how it is sent').choices(types).default('bearer'))
    .action(asks(set));
  const rotated = 'replace the secret of a credential; the old one is gone with the next call';
  withSecret(group, 'rotate', rotated).action(asks(rotate));
  command(group, 'list', 'names, types and uses of the credentials').action(
    showList('/v1/credentials', columns),
  );
  const rekeyed = 'seal all credentials with the first key of the vault, where another one has sealed them';
  command(group, 'rekey', rekeyed).action(asks(rekey));
  command(group, 'revoke', 'take a credential out of the vault').argument('<name>').action(asks(revoke));
}

async function set(asking: CliCommand<SecretOptions>): Promise<void> {
  const credential = await put(asking, asking.options.type ?? 'bearer');
  await asking.tell(
    credential,
    `${credential.name} is set. Calls carry it once an inbound route, or an entry of credentials: that has hosts, names it.`,
  );
}

async function rotate(asking: CliCommand<SecretOptions>): Promise<void> {
  const [name] = asking.operands;
  const { items } = await asking.client.get<Listing<Credential>>('/v1/credentials');
  const standing = items.find((it) => it.name === name && it.source === 'vault');
  if (!standing) throw new Error(`there is no credential ${name} in the vault; "credential set" makes one.`);
  const credential = await put(asking, standing.type);
  await asking.tell(credential, `${credential.name} is rotated.`);
}

async function rekey({ client, tell }: CliCommand<CommonOptions>): Promise<void> {
  const done = await client.send<Rekeyed>('POST', '/v1/credentials/rekey', {});
  await tell(done, `${done.rekeyed} sealed anew, ${done.unchanged} as they should be.`);
  const unreadable = done.unreadable.map((it) => `${it.tenant_id}/${it.name}`).join(', ');
  if (unreadable !== '') throw new Error(`sealed with a key that the vault does not have: ${unreadable}`);
}

async function revoke({ client, operands, tell }: CliCommand<CommonOptions>): Promise<void> {
  const revoked = await client.send<Credential>('DELETE', apiPath('/v1/credentials/?', ...operands));
  await tell(revoked, `${revoked.name} is revoked.`);
}

async function put(asking: CliCommand<SecretOptions>, type: string): Promise<Credential> {
  const secret = await readFields(asking, type);
  return asking.client.send('PUT', apiPath('/v1/credentials/?', ...asking.operands), { type, secret });
}

async function readFields({ options, misused }: CliCommand<SecretOptions>, type: string): Promise<unknown> {
  const { file, fields, username, header } = options;
  if (!fields && type === 'basic' && username === undefined) misused('type basic needs --username.');
  if (!fields && type === 'headers' && header === undefined)
    misused('type headers needs --header, or --fields.');
  if (!fields && type === 'aws_sigv4') misused('type aws_sigv4 has several secrets: it needs --fields.');
  const text =
    file === undefined && process.stdin.isTTY
      ? await readHidden('Secret (it is not shown): ', secretBytesMax)
      : (await readInput(file, secretBytesMax)).toString('utf8').replace(/\r?\n$/, '');
  if (text === '') throw new Error('the secret is empty; give it on standard input or with --file.');
  if (fields) return parseFields(text);
  if (type === 'basic') return { username, password: text };
  if (type === 'oauth2_client_credentials')
    return text.startsWith('-----BEGIN') ? { private_key: text } : { client_secret: text };
  return header !== undefined && type === 'headers' ? { values: { [header]: text } } : { value: text };
}

function parseFields(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which is a secret.
    throw new Error('what was read is no JSON.');
  }
}
