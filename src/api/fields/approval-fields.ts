import { z } from 'zod';
import { coverageOf } from '../../decision/approvals/coverage.ts';
import type { Gate } from '../../decision/gate.ts';
import type { ApprovalFilter, ApprovalRecord } from '../../state/store.ts';
import { band, instant, pageQuery, present, time, uuid } from './fields.ts';
import { shown } from './shown.ts';

/* Approvals in requests and answers. */

export const approvalStatuses = z.enum(['pending', 'approved', 'denied', 'expired']);

export const publicApproval = z
  .object({
    approval_id: z.uuid(),
    status: approvalStatuses,
    trace_id: z.uuid(),
    tenant_id: z.string(),
    env_name: z.string(),
    agent_id: z.uuid(),
    agent_name: z.string(),
    tool_name: z.string(),
    operation: z.string(),
    method: z.string(),
    url: z.string(),
    body_preview: z.string().describe('The beginning; how much more there is stands behind it.'),
    body_bytes: z.int().describe('Of the whole body, as it was received.'),
    opens_websocket: z.boolean().describe('More follows, and is judged message by message.'),
    findings: z
      .array(z.object({ class: z.string(), kind: z.string(), location: z.string(), confidence: z.string() }))
      .describe('What was found in the call, and where: the first 50.'),
    reason_codes: z.array(z.string()),
    risk_score: z.number(),
    risk_band: band,
    policy_id: z.string().nullable(),
    rule_id: z.string().nullable(),
    created_at: time,
    expires_at: time,
    decided_at: time.nullable(),
    decided_by: z.string().nullable(),
    scope: z.enum(['once', 'window']).nullable(),
    note: z.string().nullable(),
    alike: z
      .string()
      .nullable()
      .describe(
        'Equal for calls that differ in URL and body alone; null where an older version has held the call.',
      ),
    covers: z
      .object({ once: z.string(), window: z.string(), lasts: z.string() })
      .describe(
        'What an approval would let through, by its scope, as sentences; and how long the window is.',
      ),
  })
  .meta({ id: 'Approval' });

export const showApprovalFields = (
  { tenants, hashKey }: Gate,
  it: ApprovalRecord,
): z.infer<typeof publicApproval> =>
  shown(publicApproval, it, {
    opens_websocket: it.opensWebSocket,
    risk_band: band.parse(it.riskBand),
    // It is keyed, because nobody may test a guess of what stands in the headers.
    alike: it.termsHash === undefined ? null : hashKey(it.termsHash),
    covers: coverageOf(it, tenants.find(it.tenantId)?.approvals.grantWindowMs ?? 0),
  });

const word = z.string().min(1).max(256);

export const approvalQuery = z.object({
  ...pageQuery,
  status: approvalStatuses.optional(),
  agent_id: uuid.optional(),
  tool_name: word.optional(),
  from: instant.optional().describe('Opened then or later.'),
  to: instant.optional().describe('Opened before then.'),
  agent: uuid.optional().describe('The same as agent_id.'),
  tool: word.optional().describe('The same as tool_name.'),
});

export const toApprovalFilter = (
  query: Omit<z.output<typeof approvalQuery>, 'limit' | 'cursor'>,
): ApprovalFilter =>
  present({
    status: query.status,
    agentId: query.agent_id ?? query.agent,
    toolName: query.tool_name ?? query.tool,
    fromMs: query.from,
    beforeMs: query.to,
  });
