import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Environment } from '../../config/checks/references.ts';
import { newId } from '../../core/ids.ts';
import { keyDigest, keyPrefix, newKeyText } from '../../core/key-text.ts';
import { permissions } from '../../core/permissions.ts';
import { liveKey } from '../../state/rules/live-key.ts';
import type { AgentRecord, KeyRecord } from '../../state/store.ts';
import { makeFolder } from '../../util/files/make-folder.ts';
import { readOwn } from '../../util/files/own-file.ts';
import { clientVariables, readExports, toExports } from './client-variables.ts';
import type { FirstAddresses } from './first-addresses.ts';

/** The state folder of `npm start`, seen from the working directory. */
const stateDir = './data';
/** The name of the file with the secrets, in the folder of the state. */
export const firstStartFile = 'first-start.env';
const tenantId = 'default';
const envName = 'default';
const agentName = 'agent';

/** All permissions but the two that let a key decide over others. */
const firstPermissions = permissions.filter((it) => it !== 'approvals:decide' && it !== 'admin');

/**
 * The secrets and ids of a start without a configuration. They are made once and kept in
 * `data/first-start.env`.
 */
export interface FirstStart {
  readonly file: string;
  readonly isNew: boolean;
  /** The text of the file. */
  readonly exports: string;
  readonly agentId: string;
  readonly keyId: string;
  readonly keyText: string;
  readonly adminSecret: string;
  readonly addresses: FirstAddresses;
}

/** Returns the path of the file of a first start in this folder. */
export const firstStartPath = (): string => resolve(stateDir, firstStartFile);

const usualAddresses: FirstAddresses = { proxy: '127.0.0.1:8080', control: '127.0.0.1:8081', moved: [] };

/**
 * Loads or makes the first start's file, and writes the addresses of this start into it. The file is whole
 * and on disk before any of it is in the state. So the next start mends a crash between the two.
 */
export function openFirstStart(env: Environment, addresses = usualAddresses): FirstStart {
  const file = firstStartPath();
  const isNew = !existsSync(file);
  if (isNew) makeFile(file, env['SERVICE_API_KEYS_ADMIN_SECRET'], addresses);
  else moveFile(file, addresses);
  const exports = readOwn(file);
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
    addresses,
  };
}

/** Returns the configuration of a start without a file. Keys that are not named have their defaults. */
export function firstStartConfig(first: FirstStart): Record<string, unknown> {
  return {
    proxy: { listen: first.addresses.proxy },
    control: { listen: first.addresses.control, admin_secret: first.adminSecret },
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

function makeFile(file: string, adminSecret: string | undefined, addresses: FirstAddresses): void {
  const key = newKeyText('live');
  const text = toExports({
    ...urlsOf(addresses, key),
    POSTERN_KEY: key,
    POSTERN_KEY_ID: newId(),
    POSTERN_AGENT_ID: newId(),
    SERVICE_API_KEYS_ADMIN_SECRET: adminSecret || randomBytes(24).toString('hex'),
  });
  makeFolder(dirname(file), 0o700);
  const draft = writeDraft(file, text);
  try {
    linkSync(draft, file);
  } catch (error) {
    // Another start has made the file, which is as good as ours.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Writes the daemon's addresses into the file, if they differ from before. */
function moveFile(file: string, addresses: FirstAddresses): void {
  const values = Object.fromEntries(readExports(readOwn(file)));
  const urls = urlsOf(addresses, values['POSTERN_KEY'] ?? '');
  // `openFirstStart` refuses a file that lacks something else.
  if (values['HTTPS_PROXY'] === urls['HTTPS_PROXY'] && values['POSTERN_URL'] === urls['POSTERN_URL']) return;
  renameSync(writeDraft(file, toExports({ ...values, ...urls })), file);
}

const urlsOf = ({ proxy, control }: FirstAddresses, key: string): Readonly<Record<string, string>> => ({
  POSTERN_URL: `http://${reachable(control)}`,
  POSTERN_CA: resolve('./certs/ca.pem'),
  ...clientVariables(`http://${agentName}:${key}@${reachable(proxy)}`, resolve('./certs/ca.pem')),
});

/** Returns an address at which this machine reaches a listener, even one that listens everywhere. */
const reachable = (address: string): string =>
  address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');

/** Writes a draft to the disk, beside the file that it shall become, and returns its path. */
function writeDraft(file: string, text: string): string {
  const draft = join(dirname(file), `.first-start.${randomBytes(8).toString('hex')}`);
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true });
  return draft;
}
