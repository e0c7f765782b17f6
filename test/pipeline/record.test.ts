import t from 'tap';
import { GatewayError } from '../../src/errors.ts';
import { traceLine } from '../../src/pipeline/record.ts';
import { callOf, findingOf } from '../support/call.ts';

const identity = {
  keyId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  keyPrefix: 'iv_live_abcd',
  tenantId: 'acme',
  envName: 'production',
  agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12',
  agentName: 'support-bot',
  permissions: new Set<string>(),
};

t.test('a trace is one line of JSON with all that is known of the call', async (t) => {
  const call = callOf({
    url: 'https://a.example/x?q="1"',
    receivedAtMs: Date.parse('2026-03-04T05:06:07.089Z'),
  });
  call.identity = identity;
  call.operation = {
    toolName: 'custom_proxy',
    name: 'http_post',
    category: 'http',
    verb: 'WRITE',
    resource: {},
    principals: [],
  };
  call.findings = [findingOf()];
  call.head = Buffer.from(call.target.href);
  const line = traceLine(call, undefined);
  t.notMatch(line, '\n');
  t.match(JSON.parse(line), {
    trace_id: call.traceId,
    at: '2026-03-04T05:06:07.089Z',
    tenant_id: 'acme',
    agent_id: identity.agentId,
    agent_name: 'support-bot',
    key_prefix: 'iv_live_abcd',
    method: 'POST',
    url: 'https://a.example/x?q=%221%22',
    tool_name: 'custom_proxy',
    decision: 'DENY',
    findings: [{ class: 'SECRETS', kind: 'some-token', location: 'body:$.a', confidence: 'high' }],
  });
});

t.test('hostile text in any field stays inside it', async (t) => {
  const evil = 'x","decision":"ALLOW"}\n{"a":"\u2028';
  const call = callOf({ method: evil, claimed: { agentName: evil, runtimeType: evil } });
  call.identity = { ...identity, agentName: evil };
  call.head = Buffer.from(call.target.href);
  const line = traceLine(call, undefined);
  t.notMatch(line, '\n');
  t.match(JSON.parse(line), { decision: 'DENY', method: evil, agent_name: evil, runtime_type: evil });
});

t.test('a refusal says its code, and the time is right in every millisecond', async (t) => {
  const at = (receivedAtMs: number): string => {
    const call = callOf({ receivedAtMs });
    call.identity = identity;
    return JSON.parse(traceLine(call, new GatewayError('RATE_LIMITED', 'slower'))).at;
  };
  for (const ms of [0, 1, 999, 1000, 1001, 1_700_000_000_000, 1_700_000_000_999, 1_700_000_001_000]) {
    t.equal(at(ms), new Date(ms).toISOString());
  }
});

t.test('of a call that nobody has read, what its caller wrote is not kept', async (t) => {
  const secret = `ghp_${'a'.repeat(36)}`;
  const call = callOf({
    url: `https://a.example:8443/${secret}?q=${secret}`,
    claimed: { agentName: secret },
  });
  call.identity = identity;
  const line = traceLine(call, new GatewayError('IP_NOT_ALLOWED', 'elsewhere'));
  t.notMatch(line, secret);
  t.match(JSON.parse(line), { url: 'https://a.example:8443/', agent_name: 'support-bot' });
});
