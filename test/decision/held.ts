import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { basic, openSecureTunnel } from '../support/clients.ts';
import { adminSecret, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

/* A gateway that holds whatever is posted, and an analyst. */

export const admin = `Bearer ${adminSecret}`;
export const rules = [
  { rule_id: 'ask', match: { methods: ['POST'] }, condition: {}, action: 'REQUIRE_APPROVAL' },
];

export const scanOf = (body: unknown) => ({
  agent_id: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  method: 'POST',
  url: 'https://api.test.example/pay',
  headers: { 'content-type': 'application/json' },
  body,
});

export const decide = (gateway: TestGateway, approvalId: string, decision: string) =>
  gateway.api('POST', `/v1/approvals/${approvalId}/decision`, { decision }, admin);

/** The approvals that are pending, once there are so many. */
export async function pending(gateway: TestGateway, count: number): Promise<{ approval_id: string }[]> {
  for (;;) {
    const { body } = await gateway.api('GET', '/v1/approvals?status=pending', undefined, admin);
    if (body.items.length >= count) return body.items;
    await new Promise((done) => setTimeout(done, 20));
  }
}

export const pay = scanOf({ amount: 1 });

export async function startHolding(t: Test) {
  const upstream = await startUpstream(t);
  const gateway = await startTestGateway(t, { upstream, config: { approvals: { hold: '1m' } } });
  await gateway.apply(rules);
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const connect = async () => {
    const target = { proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca };
    const socket = await openSecureTunnel(target);
    t.teardown(() => socket.destroy());
    return socket;
  };
  const call = { method: 'POST', path: '/pay', headers: { host: authority }, body: '{"amount":1}' };
  return { upstream, gateway, connect, call };
}
