import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { newId } from '../../../core/ids.ts';
import { keyDigest, newKeyText } from '../../../core/key-text.ts';
import { packageFile } from '../../../util/program-files.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { print, toJson } from '../../output.ts';
import { ownCommand } from './own-command.ts';

interface InitOptions extends CommonOptions {
  readonly tenant: string;
  readonly agent: string;
  readonly listen: string;
  readonly control: string;
  readonly state: string;
}

const starter = packageFile('config/policies/packs/starter.yaml');

/** Permissions of the first key. It may call, make keys for single runs, and see what became of its calls. */
const keyPermissions = ['scan', 'keys:ephemeral', 'keys:revoke', 'keys:read', 'activity:read', 'usage:read'];

/** Adds `postern init`, which makes a folder with configuration, secret, authority, tenant, agent and key. */
export function addInit(program: Command): void {
  program
    .command('init')
    .description('make a configuration that works, with an authority, an admin secret, an agent and a key')
    .argument('[folder]', 'where; it is made where it is missing', '.')
    .option('--tenant <id>', 'the tenant', 'main')
    .option('--agent <name>', 'the first agent', 'agent')
    .option('--listen <address>', 'address of the proxy', '127.0.0.1:8080')
    .option('--control <address>', 'address of the control plane', '127.0.0.1:8081')
    .option('--state <url>', 'embedded:DIR, redis://:PASSWORD@HOST/0 and the like', 'embedded:./state')
    .action(async (named: string, _options: unknown, init: Command) => {
      const options = init.optsWithGlobals<InitOptions>();
      const folder = resolve(named);
      const made = await makeFolder(folder, options);
      await print(options.json ? `${toJson(made)}\n` : toldNext(made));
    });
}

interface Made {
  readonly config: string;
  readonly admin_secret_file: string;
  readonly key_file: string;
  readonly ca: string;
  readonly agent_id: string;
}

/** Writes all files. Writes none and throws if one exists, or if the options make no valid configuration. */
async function makeFolder(folder: string, options: InitOptions): Promise<Made> {
  const { makeFolder: make } = await import('../../../util/files/make-folder.ts');
  const { parseConfig } = await import('../../../config/load.ts');
  const { openAuthority } = await import('../../../wire/tls/authority.ts');
  const { agentKeyFile } = await import('../../connection/agent-key.ts');
  const [agentId, key] = [newId(), newKeyText('live')];
  const secret = randomBytes(24).toString('hex');
  const state = withoutPassword(options.state);
  const text = configText({ ...options, state: state.url }, agentId, keyDigest(key));
  const file = join(folder, 'postern.yaml');
  parseConfig(text, { file, env: {}, readFile: () => secret });
  const files: readonly (readonly [string, string, number])[] = [
    ['admin-secret', secret, 0o600],
    [agentKeyFile, `${key}\n`, 0o600],
    ...(state.password === undefined ? [] : [[passwordFile, state.password, 0o600] as const]),
    ['.gitignore', `admin-secret\nagent-key\nvault-key\n${passwordFile}\nca-key.pem*\nstate/\n`, 0o644],
    ['vault-key', `${randomBytes(32).toString('hex')}\n`, 0o600],
    ['postern.yaml', text, 0o644],
  ];
  const standing = [...files.map(([name]) => name), 'ca.pem', 'ca-key.pem'].filter(
    (name) => name !== '.gitignore' && existsSync(join(folder, name)),
  );
  if (standing.length > 0)
    throw new Error(`${folder} has ${standing.join(', ')} already; name another folder, or remove them.`);
  make(folder, 0o755);
  writeAll(
    folder,
    files.filter(([name]) => name !== '.gitignore' || !existsSync(join(folder, name))),
  );
  make(join(folder, 'policies'), 0o755);
  const policy = join(folder, 'policies', 'starter.yaml');
  if (!existsSync(policy)) copyFileSync(starter, policy);
  const [certFile, keyFile] = [join(folder, 'ca.pem'), join(folder, 'ca-key.pem')];
  openAuthority({ certFile, keyFile, nowMs: Date.now() });
  return {
    config: file,
    admin_secret_file: join(folder, 'admin-secret'),
    key_file: join(folder, agentKeyFile),
    ca: certFile,
    agent_id: agentId,
  };
}

const passwordFile = 'redis-password';

/** Returns the URL of the state. A password in it is given apart, and the URL names a file for it. */
function withoutPassword(url: string): { readonly url: string; readonly password?: string } {
  const [, before = '', password = '', after = ''] =
    /^(rediss?(?:\+cluster)?:\/\/[^:@/?#]*:)([^@/?#]+)(@.*)$/s.exec(url) ?? [];
  // A reference is no password.
  if (password === '' || password.startsWith('$')) return { url };
  return { url: `${before}\${file:${passwordFile}}${after}`, password };
}

/** Writes files. Each is whole before it has its name, and the configuration comes last. */
function writeAll(folder: string, files: readonly (readonly [string, string, number])[]): void {
  const drafts: string[] = [];
  try {
    for (const [name, text, mode] of files) {
      const draft = join(folder, `.${name}.new`);
      drafts.push(draft);
      writeFileSync(draft, text, { mode, flag: 'wx' });
    }
    for (const [name] of files) renameSync(join(folder, `.${name}.new`), join(folder, name));
  } finally {
    for (const draft of drafts) rmSync(draft, { force: true });
  }
}

function toldNext({ config, admin_secret_file, key_file, ca }: Made): string {
  return [
    `Made ${config},`,
    `  the admin secret in ${admin_secret_file}, the key of the first agent in ${key_file},`,
    `  and a certificate authority, ${ca}.`,
    '',
    'Type next:',
    `  export POSTERN_CONFIG=${quoted(config)}`,
    `  ${ownCommand} serve                 in this terminal, or as a service`,
    '',
    'and in another terminal, with the same export:',
    `  ${ownCommand} run -- CMD            a program whose calls leave through the gateway`,
    `  ${ownCommand} status                how the daemon is`,
    `  ${ownCommand} doctor                what is enforced, and what is not`,
    `  ${ownCommand} key mint --name NAME  a key for another agent`,
    '',
  ].join('\n');
}

const quoted = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const configText = (
  { tenant, agent, listen, control, state }: InitOptions,
  agentId: string,
  hash: string,
): string =>
  `# Postern. Every key that is left out has its default: "postern config show" prints them all, and
# docs/administration/configuration.md explains them. "postern config check" says what is wrong with this file;
# "postern reload" takes a change over.

proxy:
  listen: ${JSON.stringify(listen)}             # where agents connect: HTTPS_PROXY
control:
  listen: ${JSON.stringify(control)}             # API, console and health checks, for you alone
  admin_secret: \${file:admin-secret}
state:
  url: ${JSON.stringify(state)}             # several machines: redis://HOST/0
  dir: ./state
vault: { key_file: vault-key }            # opens stored credentials; all machines need the same
authority: { cert: ./ca.pem, key: ./ca-key.pem }     # agents trust the first; nobody else reads the second

tenants:
  - id: ${JSON.stringify(tenant)}
    plan: enterprise                      # no limits; "free" to "pro" have some
    environments: [production]
    # org_domains: [example.com]          # recipients there are inside; all others are outside
    # posture: { secrets: SANITIZE, pii: ALLOW, bands: { HIGH: REQUIRE_APPROVAL, CRITICAL: DENY } }

agents:
  - { id: ${agentId}, name: ${JSON.stringify(agent)} }

keys:                                     # the key itself is in the file agent-key; here is its hash
  - name: first key
    agent: ${agentId}
    hash: "sha256:${hash}"
    permissions: ${JSON.stringify(keyPermissions)}

policies: [policies/*.yaml]               # starter.yaml asks about what is rarely right; "postern policy validate FILE" checks it
# detectors: [detectors/*.yaml]           # patterns of your own, such as customer numbers: docs/detection.md

# upstream:
#   allow_private: [10.0.0.0/8]           # private addresses that agents may reach
#   ca_files: [corporate-ca.pem]          # authorities of your own servers
# notifications:
#   - { name: chat, type: slack, url: "\${env:SLACK_HOOK}", events: [decision.deny, decision.require_approval] }
`;
