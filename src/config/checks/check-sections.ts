import { parseStateUrl } from '../sections/addresses.ts';
import { secretFields } from '../sections/credentials.ts';
import { defaultBands } from '../sections/risk.ts';
import { definitionKeys } from '../sections/tools.ts';
import { readWebhookSecret } from '../webhook-secret.ts';
import {
  entriesOf,
  isMapping,
  type Mapping,
  mapping,
  type WrittenEntry,
  writtenTextOf,
  writtenTextsOf,
} from '../written.ts';
import type { UnplacedMistake } from './issues.ts';
import type { Environment } from './references.ts';

/* Checks values of one section against each other. */

export function checkBands(root: Mapping): readonly UnplacedMistake[] {
  const risk = mapping(root['risk']);
  const written = mapping(risk['bands']);
  const bound = (name: keyof typeof defaultBands) => Number(written[name] ?? defaultBands[name]);
  const findings: UnplacedMistake[] = [];
  for (const [lower, upper] of [
    ['MEDIUM', 'HIGH'],
    ['HIGH', 'CRITICAL'],
  ] as const) {
    if (bound(lower) >= bound(upper)) {
      findings.push({ path: ['risk', 'bands', upper], message: `must be above ${lower}` });
    }
  }
  const weights = Object.values(mapping(risk['weights']));
  if (weights.length === 5 && weights.every((it) => it === 0)) {
    findings.push({ path: ['risk', 'weights'], message: 'at least one weight must be above 0' });
  }
  return findings;
}

export function checkDaemon(root: Mapping, env: Environment): readonly UnplacedMistake[] {
  const findings: UnplacedMistake[] = [];
  const url = writtenTextOf(mapping(root['state'])['url']) ?? 'embedded:./data';
  if (Number(root['workers'] ?? 1) > 1 && parseStateUrl(url)?.driver === 'embedded') {
    findings.push({
      path: ['workers'],
      message: 'several workers need a state that they can share: redis://…',
    });
  }
  const requireAuth = mapping(root['proxy'])['require_auth'];
  const tenants = entriesOf(root, 'tenants').length;
  if ((requireAuth === false || requireAuth === 'false') && tenants !== 1) {
    const message = `calls without a key need to be those of one tenant, and the file has ${tenants}; leave one, or set require_auth to true and give each agent a key`;
    findings.push({ path: ['proxy', 'require_auth'], message });
  }
  for (const name of ['proxy', 'control']) {
    const { cert, key } = mapping(mapping(root[name])['tls']);
    if ((cert === undefined) !== (key === undefined)) {
      findings.push({
        path: [name, 'tls', cert === undefined ? 'cert' : 'key'],
        message: 'cert and key come together',
      });
    }
  }
  const vault = mapping(root['vault']);
  const keyEnv = writtenTextOf(vault['key_env']);
  if (keyEnv !== undefined && vault['key_file'] !== undefined) {
    findings.push({
      path: ['vault', 'key_env'],
      message: 'the key of the vault is either in a file or in a variable',
    });
  }
  if (keyEnv !== undefined && !isVaultKey(env[keyEnv])) {
    const message = 'the variable that it names must hold 32 bytes in hex or base64';
    findings.push({ path: ['vault', 'key_env'], message });
  }
  return [...findings, ...checkListeners(root)];
}

const isVaultKey = (text: string | undefined): boolean =>
  text !== undefined && /^\s*(?:(?:[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)(?:\s+|$)){1,4}$/.test(text);

function checkListeners(root: Mapping): readonly UnplacedMistake[] {
  const seen = new Set<string>();
  const defaults = { proxy: '127.0.0.1:8080', control: '127.0.0.1:8081' } as const;
  return (['proxy', 'control'] as const).flatMap((name) => {
    const written = mapping(root[name])['listen'] ?? defaults[name];
    return [written].flat().flatMap((address, index) => {
      if (typeof address !== 'string' || address.endsWith(':0')) return [];
      const isSecond = seen.has(address);
      seen.add(address);
      const path = [name, 'listen', ...(Array.isArray(written) ? [index] : [])];
      return isSecond ? [{ path, message: 'another listener has this address' }] : [];
    });
  });
}

export function checkBudgets(root: Mapping): readonly UnplacedMistake[] {
  const budgets = entriesOf(root, 'tenants').flatMap(({ path, item }) => entriesOf(item, 'budgets', path));
  return budgets.flatMap(({ path, item }) => {
    const hasPath = item['amount_path'] !== undefined;
    if ((item['unit'] === 'amount') === hasPath) return [];
    const message = hasPath ? 'stands with unit amount alone' : 'is missing; unit amount needs it';
    return [{ path: [...path, 'amount_path'], message }];
  });
}

export function checkCredential({ path, item }: WrittenEntry): readonly UnplacedMistake[] {
  const isSigning = item['client_authentication'] === 'private_key_jwt';
  const fields = isSigning ? ['private_key'] : (secretFields[writtenTextOf(item['type']) ?? ''] ?? []);
  const others = isSigning ? ['client_secret'] : ['private_key', 'key_id'];
  const isInVault = item['vault'] === true || item['vault'] === 'true';
  const isOauth = item['type'] === 'oauth2_client_credentials';
  const misplaced = others.filter((field) => isOauth && item[field] !== undefined);
  const findings = misplaced.map((field) => ({
    path: [...path, field],
    message: isSigning ? 'is not used by private_key_jwt' : 'is used by private_key_jwt alone',
  }));
  const secrets = fields.flatMap((field) => {
    if (isInVault && item[field] !== undefined) {
      return [{ path: [...path, field], message: 'is in the vault, so it does not stand here' }];
    }
    if (isInVault || item[field] !== undefined) return [];
    return [{ path: [...path, field], message: 'is missing; it stands here, or in the vault (vault: true)' }];
  });
  return [...findings, ...secrets];
}

const keyless: ReadonlySet<unknown> = new Set(['token', 'ip', 'none']);

export function checkInbound({ path, item }: WrittenEntry): readonly UnplacedMistake[] {
  const auth = item['auth'] ?? 'key';
  const type = isMapping(auth) ? auth['type'] : auth;
  const findings: UnplacedMistake[] = [];
  if (keyless.has(type) && item['agent'] === undefined) {
    findings.push({
      path: [...path, 'agent'],
      message: 'is missing; without a key nothing else names the agent',
    });
  }
  const { header, query } = mapping(auth);
  if (type === 'token' && (header === undefined) === (query === undefined)) {
    findings.push({
      path: [...path, 'auth'],
      message: 'a token is either in a header or in a query parameter',
    });
  }
  return findings;
}

export function checkNotification({ path, item }: WrittenEntry): readonly UnplacedMistake[] {
  const isMail = item['type'] === 'email';
  const findings: UnplacedMistake[] = [];
  const url = writtenTextOf(item['url']);
  if (url !== undefined && /^smtps?:/i.test(url) !== isMail) {
    const message = isMail ? 'must be an smtp or smtps URL' : 'must be an http or https URL';
    findings.push({ path: [...path, 'url'], message });
  }
  if (isMail && writtenTextsOf(item['to']).length === 0) {
    findings.push({ path: [...path, 'to'], message: 'is missing; email needs recipients' });
  }
  const { secret, preset } = item;
  if (item['type'] === 'siem' && typeof preset === 'string' && typeof secret !== 'string') {
    findings.push({
      path: [...path, 'secret'],
      message: `is missing; ${preset} takes nothing without a token`,
    });
  }
  if (item['type'] === 'webhook' && typeof secret === 'string' && !readWebhookSecret(secret)) {
    const message = 'must be whsec_ and 24 to 64 bytes in base64, or up to four such with spaces between';
    findings.push({ path: [...path, 'secret'], message });
  }
  for (const address of isMail ? [item['from'], item['to']].flat() : []) {
    if (typeof address !== 'string' || mailAddress.test(address)) continue;
    const at = address === item['from'] ? ['from'] : ['to', writtenTextsOf(item['to']).indexOf(address)];
    findings.push({ path: [...path, ...at], message: 'must be one mail address, perhaps as Name <address>' });
  }
  return [...findings, ...channelKeys.flatMap((it) => checkKey(it, { path, item }))];
}

const mailAddress =
  /^(?:[^<>@,;:"\\]{1,128} <[^\s<>@,;:"()\\]+@[^\s<>@,;:"()\\]+>|[^\s<>@,;:"()\\]+@[^\s<>@,;:"()\\]+)$/;

/**
 * The keys that only some types of channels understand. On another type they would do nothing, so they are
 * refused there.
 */
const channelKeys: readonly (readonly [key: string, types: readonly string[]])[] = [
  ['signing_secret', ['slack']],
  ['headers', ['webhook', 'siem']],
  ['from', ['email']],
  ['to', ['email']],
  ['format', ['siem']],
  ['preset', ['siem']],
];

function checkKey(
  [key, types]: (typeof channelKeys)[number],
  { path, item }: WrittenEntry,
): readonly UnplacedMistake[] {
  const type = writtenTextOf(item['type']);
  const isWritten = item[key] !== undefined && item[key] !== null;
  if (!isWritten || type === undefined || types.includes(type)) return [];
  return [{ path: [...path, key], message: `has no effect here; it is for ${types.join(' and ')}` }];
}

export function checkTool({ path, item }: WrittenEntry): readonly UnplacedMistake[] {
  const isDefined = item['hosts'] !== undefined || definitionKeys.every((key) => item[key] === undefined);
  return isDefined
    ? []
    : [{ path: [...path, 'hosts'], message: 'is missing; a tool of the catalogue needs it' }];
}
