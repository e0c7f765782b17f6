import { parseStateUrl } from './addresses.ts';
import { secretFields } from './credentials.ts';
import type { Finding } from './issues.ts';
import { defaultBands } from './risk.ts';
import { definitionKeys } from './tools.ts';
import { type Entry, entriesOf, isMapping, type Mapping, mapping, textOf, textsOf } from './written.ts';

/* What the values of one section say of each other. */

export function checkBands(root: Mapping): readonly Finding[] {
  const risk = mapping(root['risk']);
  const written = mapping(risk['bands']);
  const bound = (name: keyof typeof defaultBands) => Number(written[name] ?? defaultBands[name]);
  const findings: Finding[] = [];
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

export function checkDaemon(
  root: Mapping,
  env: Readonly<Record<string, string | undefined>>,
): readonly Finding[] {
  const findings: Finding[] = [];
  const url = textOf(mapping(root['state'])['url']) ?? 'embedded:./data';
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
  const keyEnv = textOf(vault['key_env']);
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

function checkListeners(root: Mapping): readonly Finding[] {
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

export function checkBudgets(root: Mapping): readonly Finding[] {
  const budgets = entriesOf(root, 'tenants').flatMap(({ path, item }) => entriesOf(item, 'budgets', path));
  return budgets.flatMap(({ path, item }) => {
    const hasPath = item['amount_path'] !== undefined;
    if ((item['unit'] === 'amount') === hasPath) return [];
    const message = hasPath ? 'stands with unit amount alone' : 'is missing; unit amount needs it';
    return [{ path: [...path, 'amount_path'], message }];
  });
}

export function checkCredential({ path, item }: Entry): readonly Finding[] {
  const fields = secretFields[textOf(item['type']) ?? ''] ?? [];
  const isInVault = item['vault'] === true || item['vault'] === 'true';
  return fields.flatMap((field) => {
    if (isInVault && item[field] !== undefined) {
      return [{ path: [...path, field], message: 'is in the vault, so it does not stand here' }];
    }
    if (isInVault || item[field] !== undefined) return [];
    return [{ path: [...path, field], message: 'is missing; it stands here, or in the vault (vault: true)' }];
  });
}

const keyless: ReadonlySet<unknown> = new Set(['token', 'ip', 'none']);

export function checkInbound({ path, item }: Entry): readonly Finding[] {
  const auth = item['auth'] ?? 'key';
  const type = isMapping(auth) ? auth['type'] : auth;
  const findings: Finding[] = [];
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

export function checkNotification({ path, item }: Entry): readonly Finding[] {
  const isMail = item['type'] === 'email';
  const findings: Finding[] = [];
  const url = textOf(item['url']);
  if (url !== undefined && /^smtps?:/i.test(url) !== isMail) {
    const message = isMail ? 'must be an smtp or smtps URL' : 'must be an http or https URL';
    findings.push({ path: [...path, 'url'], message });
  }
  if (isMail && textsOf(item['to']).length === 0) {
    findings.push({ path: [...path, 'to'], message: 'is missing; email needs recipients' });
  }
  return findings;
}

export function checkTool({ path, item }: Entry): readonly Finding[] {
  const isDefined = item['hosts'] !== undefined || definitionKeys.every((key) => item[key] === undefined);
  return isDefined
    ? []
    : [{ path: [...path, 'hosts'], message: 'is missing; a tool of the catalogue needs it' }];
}
