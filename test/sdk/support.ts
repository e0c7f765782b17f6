import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { createPostern, type Postern, type PosternOptions } from '../../src/sdk/index.ts';
import { type GatewaySetup, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type TestUpstream, type UpstreamHandler } from '../support/upstream.ts';

export interface AgentLab {
  readonly gateway: TestGateway;
  readonly upstream: TestUpstream;
  readonly postern: Postern;
  /** Another client of the same gateway. */
  client(options?: Partial<PosternOptions>): Postern;
  /** Decides as an analyst, whose key is of another agent. */
  decide(approvalId: string, decision: 'approved' | 'denied', fields?: object): Promise<void>;
  /** The approvals that stand open. */
  pending(): Promise<string[]>;
}

const rule = (rule_id: string, match: object, action: string, condition: object = {}) => ({
  ...{ rule_id, priority: 10, match, condition, action },
});

/** What a path of the upstream asks for is what the policy says of it. */
export const rules = [
  { ...rule('deny', { url_patterns: ['*/deny*'] }, 'DENY'), reason_code: 'NOT_THERE' },
  rule('ask', { url_patterns: ['*/ask*'] }, 'REQUIRE_APPROVAL'),
  rule('clean', { url_patterns: ['*/clean*'] }, 'SANITIZE'),
  rule('let', {}, 'ALLOW'),
];

/** A gateway, an upstream in plain HTTP that counts, and an agent. */
export async function startAgentLab(
  t: Test,
  handler?: UpstreamHandler,
  setup: GatewaySetup = {},
): Promise<AgentLab> {
  // How long reading takes on a busy machine is not what these tests are about.
  const config = { limits: { scan_timeout: '30s' }, ...setup.config };
  const gateway = await startTestGateway(t, { ...setup, config });
  const upstream = await startUpstream(t, handler, { tls: false });
  await gateway.apply(rules);
  const { key: analyst } = await gateway.mint({
    default_agent_id: randomUUID(),
    permissions: ['approvals:decide', 'activity:read'],
  });
  const client: AgentLab['client'] = (options = {}) =>
    createPostern({ url: gateway.controlUrl, key: gateway.key, timeoutMs: 60_000, ...options });
  return {
    gateway,
    upstream,
    postern: client(),
    client,
    async decide(approvalId, decision, fields = {}) {
      const path = `/v1/approvals/${approvalId}/decision`;
      const { status } = await gateway.api('POST', path, { decision, ...fields }, `Bearer ${analyst}`);
      t.equal(status, 200, `${decision} by an analyst`);
    },
    async pending() {
      const path = '/v1/approvals?status=pending';
      const { body } = await gateway.api('GET', path, undefined, `Bearer ${analyst}`);
      return body.items.map((it: { approval_id: string }) => it.approval_id);
    },
  };
}

/** The first approval that stands open, once there is one. */
export async function firstPending(lab: AgentLab): Promise<string> {
  for (;;) {
    const [approvalId] = await lab.pending();
    if (approvalId !== undefined) return approvalId;
  }
}

/** What a promise was rejected with. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error('nothing failed');
}

/** What a gateway answers to a call that may go. */
export const allowed = {
  decision: 'ALLOW',
  risk_score: 0,
  risk_band: 'LOW',
  reason_codes: ['POLICY_ALLOW'],
  trace_id: '01980000-0000-7000-8000-000000000000',
  tool_name: 'custom_proxy',
  operation: 'POST',
  classifications: [],
  signals: [],
};
