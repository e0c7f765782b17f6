import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { startGateway } from '../../src/daemon/gateway.ts';

/** A gateway that stands alone: one tenant, one agent, no limits of a plan, and nobody to ask. */
export interface OwnGateway {
  post(path: string, secret: string, body: unknown): Promise<Record<string, unknown>>;
  mintKey(): Promise<string>;
  close(): Promise<void>;
}

const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
const adminSecret = 'of-the-score';

/** `tenant` has what its section says beside its name and plan. */
export async function openOwnGateway(tenant: Readonly<Record<string, unknown>> = {}): Promise<OwnGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'postern-score-'));
  const file = join(dir, 'postern.yaml');
  const config = {
    proxy: { listen: '127.0.0.1:0' },
    control: { listen: '127.0.0.1:0', admin_secret: adminSecret },
    tenants: [{ id: 'score', plan: 'enterprise', environments: ['production'], ...tenant }],
    agents: [{ id: agentId, tenant: 'score', env: 'production', name: 'score' }],
    log: { level: 'error' },
  };
  writeFileSync(file, stringify(config));
  const gateway = await startGateway(file, {});
  const post: OwnGateway['post'] = async (path, secret, body) => {
    const response = await fetch(new URL(path, gateway.controlUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${answer['detail']}`);
    return answer;
  };
  return {
    post,
    async mintKey() {
      const minted = await post('/v1/keys', adminSecret, { name: 'score', default_agent_id: agentId });
      return String(minted['key']);
    },
    async close() {
      await gateway.stop(1000);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
