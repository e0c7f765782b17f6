import type { Config } from './schema.ts';

const hidden = '***';

/** Fields that hold a secret wherever they stand. */
const secretNames: ReadonlySet<string> = new Set([
  'adminSecret',
  'value',
  'username',
  'password',
  'clientSecret',
  'privateKey',
  'accessKeyId',
  'secretAccessKey',
  'sessionToken',
  'secret',
  'signingSecret',
]);

/** Mappings whose values are secret, and whose names are not. */
const secretTables: ReadonlySet<string> = new Set(['values', 'headers', 'otlpHeaders']);

/**
 * Returns the configuration in effect as a plain value, for `config show`: names in snake_case, times in
 * `…_ms`, secrets as `***`. The URL of a notification is a secret itself with most chat tools, so only its
 * origin is shown.
 */
export function toShown(config: Config): Record<string, unknown> {
  const { defaultTenant: _, origins: __, vault, notifications, ...plain } = config;
  const shown = {
    ...plain,
    vault: { ...vault, key: vault.key === null ? null : hidden },
    notifications: notifications.map((it) => ({ ...it, url: originOf(it.url) })),
  };
  return show(shown, '') as Record<string, unknown>;
}

function show(value: unknown, name: string): unknown {
  if (value === null || value === undefined) return value;
  if (secretNames.has(name)) return hidden;
  if (typeof value === 'string') return withoutUserInfo(value);
  if (typeof value !== 'object') return value;
  if (value instanceof Set) return [...value];
  if (Array.isArray(value)) return value.map((item: unknown) => show(item, ''));
  const isTable = value instanceof Map;
  const entries = [...(isTable ? value : Object.entries(value))] as [string, unknown][];
  const isSecret = secretTables.has(name);
  return Object.fromEntries(
    entries.map(([key, it]) => [
      isTable ? key : snakeCase(key),
      isSecret ? hidden : show(it, isTable ? '' : key),
    ]),
  );
}

// Names that begin with a capital, such as `HIGH`, were never changed.
const snakeCase = (name: string): string =>
  /^[a-z]/.test(name) ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name;

const withoutUserInfo = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${hidden}@`);

const originOf = (url: string): string => {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}/${hidden}`;
};
