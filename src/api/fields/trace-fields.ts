import { z } from 'zod';
import { dataClasses, verbs } from '../../core/call.ts';
import { band, decision, finding, matchedRule, signal, time } from './fields.ts';

/* Traces in answers, as `src/decision/trace/trace-line.ts` and `src/response/inspector.ts` write them. */

const names = z.array(z.string());
const place = z.object({ kind: z.string(), location: z.string() });

const toolDrift = z.object({
  added: names,
  removed: names,
  changed: names,
  risky: names.describe('New or changed, with parameters that run code or reach anywhere'),
  injected: names.describe('New or changed, with orders to the agent in their descriptions'),
  unread: names.describe('New or changed, too long to be read'),
});

/** A scan of an answer: the findings in it, and the parts that were cut out or withheld. */
const answerScan = z
  .object({
    at: time,
    response_status: z.int().optional(),
    failure: z.string().optional().describe('There was no answer: the code of the error that the agent got'),
    part: z.enum(['head', 'trailers']).optional().describe('Of the fields, where it is not of the content'),
    extent: z
      .enum(['whole', 'cut', 'crowded'])
      .optional()
      .describe('cut: only the beginning was read; crowded: too much came at once'),
    data_classes: z.array(z.enum(dataClasses)).optional(),
    fields_redacted_count: z.int().optional(),
    content_fingerprint: z.string().optional().describe('The same for the same content'),
    injection: z
      .object({ detected: z.boolean(), score: z.number(), findings: z.array(place) })
      .optional()
      .describe('Whether it gives orders to the agent'),
    blocked: names.optional().describe('It was withheld, for these reasons'),
    redacted: z.array(place).optional().describe('What was cut out of it'),
    mcp_drift: toolDrift.optional().describe('What is new about the tools that an MCP server lists'),
  })
  .meta({ id: 'AnswerScan' });

/** A trace. Members that say nothing are absent, and how many there are depends on how far the call came. */
export const publicTrace = z
  .object({
    trace_id: z.uuid(),
    at: time,
    tenant_id: z.string(),
    env_name: z.string(),
    agent_id: z.uuid(),
    agent_name: z.string().nullish(),
    registered_name: z.string().nullish().describe('Of the agent, where the call gave another one'),
    runtime_type: z.string().optional(),
    key_id: z.string(),
    key_prefix: z.string(),
    client_address: z.string().optional(),
    entrance: z.enum(['forward', 'inbound', 'scan', 'a2a']).optional(),
    method: z.string(),
    url: z.string().describe('Without what was found in it'),
    body_bytes: z.int(),
    message_of: z.uuid().optional().describe('The trace of the call that opened the stream of this message'),
    tool_name: z.string().optional(),
    operation: z.string().optional(),
    category: z.string().optional(),
    verb: z.enum(verbs).optional(),
    parts: names.optional().describe('The operations of a call that does several things'),
    decision,
    would_be: decision.optional().describe('In monitor mode: the decision that would have stood'),
    reason_codes: names.optional().describe('The deciding one first'),
    explanation: names.optional().describe('Sentences that say why'),
    detail: z.string().optional().describe('Why the call was refused before it was judged'),
    declared_bytes: z.int().optional().describe('Of a refused call: its Content-Length'),
    actual_bytes: z.int().optional(),
    limit_bytes: z.int().optional(),
    excuse: z
      .enum(['time', 'state'])
      .optional()
      .describe('Denied, but not held against the agent: reading took too long, or the state was away'),
    risk_score: z.number().min(0).max(1),
    risk_band: band,
    risk: z
      .object({ floor: z.number(), modifier: z.number() })
      .optional()
      .describe('The least score for the findings, and the share of the trust in the agent'),
    signals: z.array(signal).optional(),
    classifications: z.array(z.enum(dataClasses)).optional(),
    findings: z.array(finding).optional().describe('What was found, and where: the first 50'),
    matched_rules: z.array(matchedRule).optional(),
    policy_id: z.string().optional().describe('Of the rule that decided'),
    policy_name: z.string().optional(),
    rule_id: z.string().optional(),
    tags: names.optional(),
    escalate_to: names.optional().describe('Kinds of channels that are told'),
    violations: names.optional().describe('How the call leaves the scope of its key'),
    incidents: names.optional().describe('What an analyst should look at'),
    approval_id: z.uuid().optional(),
    credential: z.string().optional().describe('The stored credential that went out with the call'),
    response_scans: z.array(answerScan).optional().describe('Only where one trace is asked for'),
  })
  .meta({ id: 'Trace' });
