import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Call, Identity } from '../call.ts';
import type { Config, CredentialConfig } from '../config/schema.ts';
import { GatewayError } from '../errors.ts';
import { compileGlob } from '../policy/glob.ts';
import { readingsOf } from '../policy/url-pattern.ts';
import { loadOrMakeSecret } from '../state/secrets.ts';
import type { MaybePromise, SealedCredential, Store } from '../state/store.ts';
import { toHostMatcher } from '../upstream/host-glob.ts';
import { createVault, parseVaultKey, type Vault, vaultKeyBytes } from '../vault/vault.ts';
import { type Injection, type Secret, toInjection } from './injection.ts';
import { compilePathGlob } from './path-glob.ts';

/** The credentials that the gateway sends instead of the agent, in one generation of the configuration. */
export interface Credentials {
  /**
   * The one for a call of the forward proxy: the first in the file whose tenant, host, path and agent are the call's; undefined where
   * there is none. Fails with CREDENTIAL_UNAVAILABLE where there is one that cannot be sent: the call must not go without.
   */
  forCall(call: Call): MaybePromise<Injection | undefined>;
  /** The one that a route names. Fails in the same way. */
  named(tenantId: string, name: string): MaybePromise<Injection>;
}

/** One of the configuration, ready to be asked. */
interface Entry {
  readonly config: CredentialConfig;
  isFor(host: string): boolean;
  isAt(path: string): boolean;
  isOf(identity: Identity): boolean;
  /** Where the secret stands in the file. */
  readonly injection: Injection | undefined;
}

/** The types that can be sent; the others of the configuration are refused when it is loaded. */
export const sentTypes = ['bearer', 'basic', 'headers', 'query'] as const;
export type SentType = (typeof sentTypes)[number];

export function createCredentials(config: Config, store: Store, vault: Vault): Credentials {
  const byTenant = Map.groupBy(config.credentials.map(toEntry), (it) => it.config.tenantId);
  /** Opening and making the needles costs more than a small call: done once for each record of the state. */
  const opened = new WeakMap<SealedCredential, Injection>();

  function open(record: SealedCredential | undefined, name: string, parameter: string | null): Injection {
    if (!record) throw unavailable(`The credential ${name} is not in the vault, or was revoked.`);
    const known = opened.get(record);
    if (known) return known;
    const text = vault.open(record, record.sealed);
    if (text === undefined)
      throw unavailable(`The credential ${name} cannot be opened with the key of the vault.`);
    const injection = toInjection(parseSecret(record.type, text, parameter ?? name));
    opened.set(record, injection);
    return injection;
  }

  function fromVault(tenantId: string, name: string, entry: Entry | undefined): MaybePromise<Injection> {
    const parameter = entry?.config.type === 'query' ? entry.config.parameter : null;
    const opening = (record: SealedCredential | undefined): Injection => {
      if (record && entry && record.type !== entry.config.type)
        throw unavailable(
          `The credential ${name} is of another type in the vault than in the configuration.`,
        );
      return open(record, name, parameter);
    };
    const record = store.credentialOf(tenantId, name);
    return record instanceof Promise ? record.then(opening) : opening(record);
  }

  const ready = (tenantId: string, name: string, entry: Entry | undefined): MaybePromise<Injection> =>
    entry?.injection ?? fromVault(tenantId, name, entry);

  return {
    forCall(call) {
      const { identity, target } = call;
      const entries = identity && byTenant.get(identity.tenantId);
      if (!entries) return undefined;
      const near = entries.filter((it) => it.isFor(target.host) && it.isOf(identity));
      if (near.length === 0) return undefined;
      const entry = choose(near, target.href);
      if (!entry) return undefined;
      const { name } = entry.config;
      if (target.scheme !== 'https') throw unavailable(`The credential ${name} is sent over https only.`);
      return ready(identity.tenantId, name, entry);
    },
    named(tenantId, name) {
      return ready(
        tenantId,
        name,
        byTenant.get(tenantId)?.find((it) => it.config.name === name),
      );
    },
  };
}

/** A path that servers read in several ways must lead to one credential in all of them. */
function choose(near: readonly Entry[], href: string): Entry | undefined {
  const chosen = new Set(readingsOf(href).map((url) => near.find((it) => it.isAt(pathOf(url)))));
  if (chosen.size > 1)
    throw unavailable('The path can be read in several ways, which lead to different credentials.');
  return [...chosen][0];
}

const pathOf = (url: string): string => {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  return start < 0 ? '/' : (url.slice(start).split('?', 1)[0] ?? '/');
};

function toEntry(config: CredentialConfig): Entry {
  const hosts = config.hosts.map(toHostMatcher);
  const paths = config.paths?.map(compilePathGlob);
  const names = config.agents.map((it) => compileGlob(it));
  const secret = config.vault ? undefined : toSecret(config);
  return {
    config,
    injection: secret && toInjection(secret),
    isFor: (host) => hosts.some((matches) => matches(host)),
    isAt: (path) => paths === undefined || paths.some((matches) => matches(path)),
    isOf: ({ agentId, agentName }) =>
      config.agents.includes(agentId) || names.some((matches) => matches(agentName)),
  };
}

/** What stands in the file; undefined for a type that is not sent. */
function toSecret(config: CredentialConfig): Secret | undefined {
  switch (config.type) {
    case 'bearer':
      return { type: 'bearer', value: config.value ?? '' };
    case 'basic':
      return { type: 'basic', username: config.username ?? '', password: config.password ?? '' };
    case 'headers':
      return { type: 'headers', values: config.values ?? new Map() };
    case 'query':
      return { type: 'query', parameter: config.parameter ?? config.name, value: config.value ?? '' };
    default:
      return undefined;
  }
}

/** What may stand in a header field or a query (RFC 9110, 5.5). */
const text = z.string().regex(/^[\t\x20-\x7e\x80-\xff]{1,65536}$/, {
  error: 'must be 1 to 65536 characters of one line of Latin-1',
});
const fieldName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, { error: 'must be the name of a header' });
const ofConnection =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|proxy-.*)$/i;

/** The fields of a secret by type, as they are given to be sealed. */
export const secretSchemas = {
  bearer: z.strictObject({ value: text }),
  basic: z.strictObject({ username: text, password: text }),
  headers: z.strictObject({
    values: z
      .record(fieldName, text)
      .refine((it) => Object.keys(it).every((name) => !ofConnection.test(name)), {
        error: 'has a header that a credential cannot set',
      })
      .refine((it) => Object.keys(it).length >= 1 && Object.keys(it).length <= 32, {
        error: 'must have 1 to 32 headers',
      }),
  }),
  query: z.strictObject({ value: text }),
} as const satisfies Record<SentType, z.ZodType>;

export const isSentType = (type: string): type is SentType => (sentTypes as readonly string[]).includes(type);

function parseSecret(type: string, json: string, parameter: string): Secret {
  if (!isSentType(type)) throw unavailable('The credential is of a type that this version does not send.');
  const fields: unknown = JSON.parse(json);
  switch (type) {
    case 'bearer':
      return { type, ...secretSchemas.bearer.parse(fields) };
    case 'basic':
      return { type, ...secretSchemas.basic.parse(fields) };
    case 'headers':
      return { type, values: new Map(Object.entries(secretSchemas.headers.parse(fields).values)) };
    case 'query':
      return { type, parameter, ...secretSchemas.query.parse(fields) };
  }
}

const unavailable = (detail: string): GatewayError => new GatewayError('CREDENTIAL_UNAVAILABLE', detail);

/**
 * The vault with the key of the configuration; where it names none, with the one beside the state, made on the first start. A file that
 * is named must be there: a new key would open nothing that was sealed before.
 */
export function openVault({ vault, state }: Pick<Config, 'vault' | 'state'>): Vault {
  if (vault.key !== null) {
    const key = parseVaultKey(vault.key);
    if (!key) throw new Error('The variable that vault.key_env names must hold 32 bytes in hex or base64.');
    return createVault(key);
  }
  if (vault.keyFile !== null && !existsSync(vault.keyFile))
    throw new Error(`${vault.keyFile}, the key of the vault, is not there.`);
  return createVault(loadOrMakeSecret(vault.keyFile ?? join(state.dir, 'vault-key'), vaultKeyBytes));
}
