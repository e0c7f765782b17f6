import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { startGateway } from '../../src/daemon/gateway.ts';
import { checkDescribed } from './described-answers.ts';

/*
 * A whole gateway for tests: real listeners on free ports, a state of its own in a temporary folder, one tenant, one agent, one key.
 */

interface Test {
  teardown(close: () => void | Promise<void>): void;
}

export interface GatewaySetup {
  /** Merged over the base configuration, section by section. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** File name -> text; the configuration names `policies/*.yaml`. */
  readonly policyFiles?: Readonly<Record<string, string>>;
  /** The upstream's authority, and the names that lead to it. */
  readonly upstream?: { readonly caFile: string; readonly port: number };
}

export interface TestGateway {
  readonly dir: string;
  readonly configFile: string;
  readonly proxyUrl: string;
  /** `http://agent:KEY@host:port` */
  readonly proxyWithKey: string;
  readonly controlUrl: string;
  readonly caFile: string;
  readonly key: string;
  readonly keyId: string;
  readonly agentId: string;
  readonly adminSecret: string;
  reload(): Promise<boolean>;
  stop(): Promise<void>;
  /** Calls the control plane as the key, or as `authorization` says. */
  api(method: string, path: string, body?: unknown, authorization?: string): Promise<ApiReply>;
  /** Mints a further key. */
  mint(fields?: Readonly<Record<string, unknown>>): Promise<{ key: string; key_id: string }>;
  apply(rules: readonly unknown[], name?: string): Promise<ApiReply>;
}

export interface ApiReply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into field by field
  readonly body: any;
}

export const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
/** A rule that denies whatever deletes. */
export const denyDeletes = {
  rule_id: 'no-delete',
  priority: 1,
  match: { methods: ['DELETE'] },
  condition: {},
  action: 'DENY',
};
export const adminSecret = 'the-admin-secret-of-the-tests';

/** The configuration that tests start from; `upstream` names lead to loopback. */
export function testConfig(setup: GatewaySetup): Record<string, unknown> {
  const base: Record<string, Record<string, unknown> | unknown> = {
    proxy: { listen: '127.0.0.1:0' },
    control: { listen: '127.0.0.1:0', admin_secret: adminSecret },
    state: { url: 'embedded:./data' },
    authority: { cert: './certs/ca.pem', key: './certs/ca-key.pem' },
    upstream: {
      allow_private: ['127.0.0.0/8'],
      ...(setup.upstream
        ? {
            ca_files: [setup.upstream.caFile],
            resolve: [{ host: '*.test.example', address: '127.0.0.1', port: setup.upstream.port }],
          }
        : {}),
    },
    tenants: [
      { id: 'acme', plan: 'enterprise', environments: ['production', 'staging'], org_domains: ['acme.test'] },
    ],
    agents: [{ id: agentId, tenant: 'acme', env: 'production', name: 'support-bot' }],
    policies: ['policies/*.yaml'],
    // Threads take a second of the processor to start; POSTERN_TEST_THREADS=2 runs all of these tests with them.
    reading: { threads: Number(process.env['POSTERN_TEST_THREADS'] ?? 0) },
    log: { level: 'silent' },
  };
  for (const [name, value] of Object.entries(setup.config ?? {})) {
    const standing = base[name];
    base[name] = isSection(standing) && isSection(value) ? { ...standing, ...value } : value;
  }
  return base;
}

const isSection = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Writes a configuration folder; removed at teardown. */
export function writeTestConfig(t: Test, setup: GatewaySetup): { dir: string; configFile: string } {
  const dir = mkdtempSync(join(tmpdir(), 'postern-gateway-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'policies'));
  for (const [name, text] of Object.entries(setup.policyFiles ?? {}))
    writeFileSync(join(dir, 'policies', name), text);
  const configFile = join(dir, 'postern.yaml');
  writeFileSync(configFile, stringify(testConfig(setup)));
  return { dir, configFile };
}

export async function startTestGateway(t: Test, setup: GatewaySetup = {}): Promise<TestGateway> {
  const { dir, configFile } = writeTestConfig(t, setup);
  const gateway = await startGateway(configFile, {});
  t.teardown(() => gateway.stop(1000));
  const client = apiClient(gateway.controlUrl);
  const mint = async (
    fields: Readonly<Record<string, unknown>> = {},
  ): Promise<{ key: string; key_id: string }> => {
    const asked = { tenant_id: 'acme', name: 'test', default_agent_id: agentId, ...fields };
    const { status, body } = await client('POST', '/v1/keys', asked, `Bearer ${adminSecret}`);
    if (status !== 201) throw new Error(`minting answered ${status}: ${body?.detail}`);
    return body;
  };
  const { key, key_id: keyId } = await mint();
  const proxyWithKey = gateway.proxyUrl.replace('://', `://agent:${key}@`);
  const api: TestGateway['api'] = (method, path, body, authorization = `Bearer ${key}`) =>
    client(method, path, body, authorization);
  return {
    dir,
    configFile,
    proxyUrl: gateway.proxyUrl,
    proxyWithKey,
    controlUrl: gateway.controlUrl,
    caFile: gateway.caFile,
    key,
    keyId,
    agentId,
    adminSecret,
    reload: () => gateway.reload(),
    stop: () => gateway.stop(1000),
    api,
    mint,
    apply: (rules, name = 'test') => api('POST', '/v1/policies/apply', { name, rules }),
  };
}

/** A client of a control plane; a string body is sent as it is. */
export function apiClient(controlUrl: string) {
  return async (method: string, path: string, body: unknown, authorization: string): Promise<ApiReply> => {
    const response = await fetch(new URL(path, controlUrl), {
      method,
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status, headers } = response;
    const contentType = headers.get('content-type');
    const parsed = text === '' ? undefined : JSON.parse(text);
    checkDescribed(method, path, { status, contentType, body: parsed });
    return { status, headers, body: parsed };
  };
}
