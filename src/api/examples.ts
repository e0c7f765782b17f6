/* One example request for each endpoint that takes a body. A test checks each against its schema. */

const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
const traceId = '019a1fd9-94c2-70dc-9d70-f38e0ce60b0f';
const call = {
  method: 'POST',
  url: 'https://api.github.com/repos/acme/app/issues',
  body: { title: 'Hello' },
};
const policy = {
  name: 'payments',
  rules: [{ rule_id: 'no-delete', match: { methods: ['DELETE'] }, condition: {}, action: 'DENY' }],
};

export const requestExamples: Readonly<Record<string, unknown>> = {
  'POST /v1/console/sessions': { secret: 'iv_live_…' },
  'POST /v1/scan': call,
  'POST /v1/explain': call,
  'POST /v1/scan/response': { trace_id: traceId, response_body: '{"items":[]}' },
  'POST /v1/a2a/scan': {
    from_agent_id: agentId,
    to_agent_id: '7c1d8a1f-8b65-4c1f-8b66-1b3a7a1a8d22',
    method: 'message/send',
    payload: { text: 'The report is ready.' },
  },
  'POST /v1/keys': { name: 'ci', default_agent_id: agentId },
  'POST /v1/keys/ephemeral': { ttl_seconds: 300, max_uses: 10 },
  'PATCH /v1/keys/{key_id}': { description: 'for the nightly build' },
  'PATCH /v1/agents/{agent_id}': { name: 'support-bot' },
  'POST /v1/agents/{agent_id}/suspend': { note: 'looked into' },
  'POST /v1/agents/{agent_id}/reactivate': { note: 'a false alarm' },
  'POST /v1/agents/{agent_id}/reset-trust': { note: 'a false alarm' },
  'POST /v1/agents/suspend': { note: 'looked into' },
  'POST /v1/agents/reactivate': { note: 'all clear' },
  'PUT /v1/credentials/{name}': { type: 'bearer', secret: { value: 'TOKEN' } },
  'POST /v1/credentials/rekey': {},
  'POST /v1/inbound-routes': { prefix: 'billing', upstream: 'https://billing.example.com' },
  'PUT /v1/inbound-routes/{prefix}': { upstream: 'https://billing.example.com' },
  'POST /v1/approvals/{approval_id}/decision': { decision: 'approved', note: 'as agreed' },
  'POST /v1/integrations/slack/interactions': { payload: '{"type":"block_actions"}' },
  'POST /v1/policies/apply': policy,
  'POST /v1/policies/validate': policy,
  'POST /v1/policies/simulate': { policies: [policy], traces: { limit: 100 } },
  'POST /v1/incidents': { agent_id: agentId, title: 'Odd calls at night' },
  'PATCH /v1/incidents/{incident_id}': { severity: 'HIGH' },
  'POST /v1/incidents/{incident_id}/transition': { status: 'investigating' },
  'POST /v1/incidents/{incident_id}/notes': { text: 'Asked the team.' },
  'POST /v1/mcp-servers/{server_id}/accept': {},
  'POST /v1/risk/replay': { weights: { threat_intel: 1 }, limit: 100 },
  'POST /v1/notifications/failed/{id}/replay': {},
  'POST /v1/notifications/replay': { name: 'sec-chat' },
  'POST /v1/notifications/test': { name: 'sec-chat' },
};
