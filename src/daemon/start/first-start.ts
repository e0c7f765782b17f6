import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Environment } from '../../config/checks/references.ts';
import { permissions } from '../../config/sections/agents.ts';
import { newId } from '../../core/ids.ts';
import { keyDigest, keyPrefix, newKeyText } from '../../core/key-text.ts';
import { liveKey } from '../../state/rules/live-key.ts';
import type { AgentRecord, KeyRecord } from '../../state/store.ts';

/** The state folder of `npm start`, seen from the working directory. */
const stateDir = './data';
/** In the folder of the state. */
export const firstStartFile = 'first-start.env';
const tenantId = 'default';
const envName = 'default';
const agentName = 'agent';

/** All but the two that let a key decide over others. */
const firstPermissions = permissions.filter((it) => it !== 'approvals:decide' && it !== 'admin');

/** The secrets and ids of a start without a configuration: made once, kept in `data/first-start.env`. */
export interface FirstStart {
  readonly file: string;
  readonly isNew: boolean;
  /** The file's text. */
  readonly exports: string;
  readonly agentId: string;
  readonly keyId: string;
  readonly keyText: string;
  readonly adminSecret: string;
}

/**
 * Loads or makes the first start's file. It is whole and on disk before any of it is in the state, so the next start
 * mends a crash between the two.
 */
export function openFirstStart(env: Environment): FirstStart {
  const file = resolve(stateDir, firstStartFile);
  const isNew = !existsSync(file);
  if (isNew) makeFile(file, env['SERVICE_API_KEYS_ADMIN_SECRET']);
  const exports = readFileSync(file, 'utf8');
  const values = readExports(exports);
  const value = (name: string): string => {
    const text = values.get(name);
    if (!text)
      throw new Error(
        `${file} lacks ${name}; restore the file, or remove it together with ${dirname(file)}.`,
      );
    return text;
  };
  return {
    file,
    isNew,
    exports,
    agentId: value('POSTERN_AGENT_ID'),
    keyId: value('POSTERN_KEY_ID'),
    keyText: value('POSTERN_KEY'),
    adminSecret: value('SERVICE_API_KEYS_ADMIN_SECRET'),
  };
}

/** The configuration that stands where no file does; every key that is not named has its default. */
export function firstStartConfig(first: FirstStart): Record<string, unknown> {
  return {
    control: { admin_secret: first.adminSecret },
    state: { url: `embedded:${stateDir}` },
    policies: [],
    tenants: [{ id: tenantId, name: 'Default', plan: 'enterprise', environments: [envName] }],
    agents: [{ id: first.agentId, tenant: tenantId, env: envName, name: agentName }],
  };
}

export function firstStartRecords(
  first: FirstStart,
  hashKey: (digest: string) => string,
  nowMs: number,
): { agent: AgentRecord; key: KeyRecord } {
  return {
    agent: {
      agentId: first.agentId,
      tenantId,
      envName,
      name: agentName,
      runtimeType: null,
      status: 'active',
      createdAtMs: nowMs,
    },
    key: liveKey({
      keyId: first.keyId,
      hash: hashKey(keyDigest(first.keyText)),
      prefix: keyPrefix(first.keyText),
      tenantId,
      envName,
      agentId: first.agentId,
      name: 'first start',
      permissions: firstPermissions,
      createdAtMs: nowMs,
    }),
  };
}

/** Variables by which the usual programs and libraries find the authority's certificate. */
export const caVariables = [
  'SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'AWS_CA_BUNDLE',
  'CARGO_HTTP_CAINFO',
  'PIP_CERT',
  'DENO_CERT',
] as const;

/** The variables that a program needs to leave through the gate. */
export function clientVariables(proxyUrl: string, caFile: string): Record<string, string> {
  return {
    HTTPS_PROXY: proxyUrl,
    HTTP_PROXY: proxyUrl,
    https_proxy: proxyUrl,
    http_proxy: proxyUrl,
    NO_PROXY: 'localhost,127.0.0.1,::1',
    NODE_USE_ENV_PROXY: '1',
    ...Object.fromEntries(caVariables.map((name) => [name, caFile])),
  };
}

/** Values as a shell reads them: quoted, whatever is in them. */
export const toExports = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'\n`)
    .join('');

/** Reads the text of `toExports`. */
export function readExports(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [, name = '', quoted = ''] of text.matchAll(/^export ([A-Za-z_]+)='((?:[^']|'\\'')*)'$/gm)) {
    values.set(name, quoted.replaceAll(`'\\''`, "'"));
  }
  return values;
}

function makeFile(file: string, adminSecret: string | undefined): void {
  const key = newKeyText('live');
  const text = toExports({
    POSTERN_URL: 'http://127.0.0.1:8081',
    POSTERN_KEY: key,
    POSTERN_KEY_ID: newId(),
    POSTERN_AGENT_ID: newId(),
    SERVICE_API_KEYS_ADMIN_SECRET: adminSecret || randomBytes(24).toString('base64url'),
    POSTERN_CA: resolve('./certs/ca.pem'),
    ...clientVariables(`http://${agentName}:${key}@127.0.0.1:8080`, resolve('./certs/ca.pem')),
  });
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = join(dirname(file), `.first-start.${randomBytes(8).toString('hex')}`);
  try {
    const fd = openSync(draft, 'wx', 0o600);
    try {
      writeSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(draft, file);
  } catch (error) {
    // Another start was first: its file is as good as ours.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
