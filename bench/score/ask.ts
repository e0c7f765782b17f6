import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { startGateway } from '../../src/gateway/gateway.ts';
import type { Case } from './corpus.ts';

/** What the gateway said of a body. */
export interface Answer {
  readonly classes: readonly string[];
  readonly isInjection: boolean;
  /** Undefined where nothing was redacted. */
  readonly sanitized: string | undefined;
}

export interface Asker {
  ask(wanted: Case): Promise<Answer>;
  close(): Promise<void>;
}

const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
const adminSecret = 'of-the-score';

/** A gateway of its own that redacts all that may be redacted, and asks nobody. */
export async function openGateway(): Promise<Asker> {
  const dir = mkdtempSync(join(tmpdir(), 'postern-score-'));
  const file = join(dir, 'postern.yaml');
  const posture = { pii: 'SANITIZE', phi: 'SANITIZE', bands: { HIGH: 'ALLOW', CRITICAL: 'ALLOW' } };
  const config = {
    proxy: { listen: '127.0.0.1:0' },
    control: { listen: '127.0.0.1:0', admin_secret: adminSecret },
    tenants: [{ id: 'score', plan: 'enterprise', environments: ['production'], posture }],
    agents: [{ id: agentId, tenant: 'score', env: 'production', name: 'score' }],
    log: { level: 'error' },
  };
  writeFileSync(file, stringify(config));
  const gateway = await startGateway(file, {});
  const post = async (path: string, secret: string, body: unknown): Promise<Record<string, unknown>> => {
    const response = await fetch(new URL(path, gateway.controlUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${answer['detail']}`);
    return answer;
  };
  const minted = await post('/v1/keys', adminSecret, { name: 'score', default_agent_id: agentId });
  const key = String(minted['key']);
  return {
    ask: async (wanted) => toAnswer(await post(pathOf(wanted), key, requestOf(wanted))),
    async close() {
      await gateway.stop(1000);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const pathOf = ({ direction }: Case): string => (direction === 'response' ? '/v1/scan/response' : '/v1/scan');

const requestOf = ({ direction, method = 'POST', url, headers, body }: Case): unknown =>
  direction === 'response' ? { response_body: body } : { method, url, headers, body };

function toAnswer(answer: Record<string, unknown>): Answer {
  const classes = (answer['classifications'] ?? answer['data_classes']) as readonly string[];
  const injection = answer['injection'] as { readonly detected?: boolean } | undefined;
  const sanitized = answer['sanitized_body'];
  return { classes, isInjection: injection?.detected === true, sanitized: textOf(sanitized) };
}

export const textOf = (body: unknown): string | undefined =>
  body === undefined || body === null || typeof body === 'string'
    ? (body ?? undefined)
    : JSON.stringify(body);
