import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { testAuthority } from '../../test/support/certificates.ts';
import { startTestGateway, type TestGateway } from '../../test/support/gateway.ts';
import { startUpstream, type UpstreamHandler } from '../../test/support/upstream.ts';
import type { Teardown } from '../with-teardown.ts';
import type { EgressCase } from './cases.ts';

/** The server that speaks MCP and A2A where a case names none. */
export const toolServer = 'https://tools.example.com';
/** Not 127.0.0.1, which is one of the addresses that cases try to reach. */
const address = '127.0.0.2';

export interface EgressLab {
  readonly gateway: TestGateway;
  /** What the upstream answers to calls whose `X-Case` is this id; `{"ok":true}` to others. */
  readonly answers: Map<string, string>;
  /** Mints a key for an agent of the case's own, so that no case is judged by what another did. */
  keyFor(at: number): Promise<string>;
}

/**
 * Starts a gateway that denies secrets, orders and payment data and asks for what may do harm, before an
 * upstream that all names lead to.
 */
export async function startEgressLab(bench: Teardown, cases: readonly EgressCase[]): Promise<EgressLab> {
  const answers = new Map<string, string>();
  const handler: UpstreamHandler = ({ headers }, response) => {
    const body = answers.get(String(headers['x-case'])) ?? '{"ok":true}';
    response.writeHead(200, { 'content-type': typeOf(body) });
    response.end(body);
  };
  const urls = [toolServer, ...cases.flatMap(({ payload }) => payload.url ?? [])].map((url) => new URL(url));
  const names = [...new Set(urls.map(({ hostname }) => hostname))].filter((name) => !/[[\]]/.test(name));
  const upstream = await startUpstream(bench, handler, {
    address,
    certificate: testAuthority().issue({ names }),
    onWebSocket: (socket) => socket.on('error', () => socket.destroy()).resume(),
  });
  const clear = await startUpstream(bench, handler, { address, tls: false });
  const clearNames = urls.filter(({ protocol }) => protocol === 'http:').map(({ hostname }) => hostname);
  const gateway = await startTestGateway(bench, {
    policyFiles: { 'egress.yaml': policies() },
    config: {
      detectors: [resolve(import.meta.dirname, 'wallets.yaml')],
      upstream: {
        allow_private: [`${address}/32`],
        ca_files: [upstream.caFile],
        resolve: [
          ...clearNames
            .filter((name) => /[a-z]$/.test(name))
            .map((host) => ({ host, address, port: clear.port })),
          { host: '*', address, port: upstream.port },
        ],
      },
      tenants: [
        {
          id: 'acme',
          plan: 'enterprise',
          environments: ['production'],
          // The cases are made of what documentation prints.
          detectors: { published_examples: 'count' },
          posture: { secrets: 'DENY' },
          response_scan: { mode: 'enforce' },
          denylist: ['exfil-collector.example.net'],
        },
      ],
      agents: cases.map(({ id }, at) => ({ id: agentOf(at), tenant: 'acme', env: 'production', name: id })),
    },
  });
  return {
    gateway,
    answers,
    keyFor: async (at) => (await gateway.mint({ default_agent_id: agentOf(at) })).key,
  };
}

const agentOf = (at: number): string => `5b0c7f0e-7a54-4b0e-9a55-${String(at).padStart(12, '0')}`;

const typeOf = (body: string): string =>
  body.startsWith('<') ? 'text/html' : body.startsWith('{') ? 'application/json' : 'text/plain';

/** Returns a policy for the subjects of the cases, and the packaged one for MCP to which no server is new. */
function policies(): string {
  const own = {
    name: 'egress',
    rules: [
      { rule_id: 'orders', condition: { has_signal: ['PROMPT_INJECTION'] }, action: 'DENY' },
      {
        rule_id: 'harm',
        condition: { has_signal: ['EXFILTRATION', 'DESTRUCTIVE'] },
        action: 'REQUIRE_APPROVAL',
      },
      {
        rule_id: 'payments',
        condition: { has_detector: ['payment-card*', 'iban*', 'wallet-*'] },
        action: 'DENY',
      },
    ],
  };
  const pack = readFileSync(
    resolve(import.meta.dirname, '../../config/policies/packs/mcp-hardening.yaml'),
    'utf8',
  );
  const packaged = parseAllDocuments(pack).map((it) => {
    const policy = it.toJS() as { readonly rules: readonly { readonly rule_id: string }[] };
    return { ...policy, rules: policy.rules.filter((rule) => rule.rule_id !== 'new-server') };
  });
  return [own, ...packaged].map((policy) => stringify(policy)).join('---\n');
}
