import { z } from 'zod';
import { type DecidedCall, dataClasses, type Verdict } from '../core/call.ts';
import { explanationForAgent, signalsForAgent } from '../decision/trace/agent-view.ts';
import { shownOperationOf } from '../decision/trace/safe-names.ts';
import { publicFinding, publicRule } from '../decision/trace/trace-line.ts';
import type { DescribedBody } from './fields/described-call.ts';
import { band, decision, finding, matchedRule, safeName, signal } from './fields/fields.ts';
import { RawAnswer } from './route.ts';

const findingsMax = 100;

/** The pipeline's answer on a call. */
export const scanAnswer = z
  .object({
    decision,
    risk_score: z.number().min(0).max(1),
    risk_band: band,
    reason_codes: z.array(z.string()),
    trace_id: z.uuid(),
    tool_name: safeName,
    operation: safeName,
    classifications: z.array(z.enum(dataClasses)),
    signals: z.array(signal),
    sanitized_body: z
      .unknown()
      .optional()
      .describe('On SANITIZE: what to send instead; of the type of the body'),
    approval_id: z.uuid().optional(),
    policy_id: z.string().optional(),
    policy_name: z.string().optional(),
    would_be: decision.optional().describe('In monitor mode: the decision that would have stood'),
    violations: z.array(z.string()).optional().describe('How the call leaves the scope of its key'),
    findings: z.array(finding),
    matched_rules: z.array(matchedRule),
    tags: z.array(z.string()).optional(),
    explanation: z.array(z.string()),
  })
  .meta({ id: 'ScanAnswer' });

type ScanAnswer = z.infer<typeof scanAnswer>;

/** Returns the answer on a decided call, without the sanitized body. */
export function toScanAnswer(call: DecidedCall): ScanAnswer {
  const { verdict, risk } = call;
  const { decidedBy, approval, wouldBe, violations, tags } = verdict;
  return {
    decision: verdict.decision,
    risk_score: risk.score,
    risk_band: risk.band,
    reason_codes: [...verdict.reasonCodes],
    trace_id: call.traceId,
    tool_name: call.safeName(call.operation.toolName),
    operation: shownOperationOf(call),
    classifications: [...verdict.classifications],
    signals: [...signalsForAgent(call)],
    ...(approval ? { approval_id: approval.approvalId } : {}),
    ...(decidedBy ? { policy_id: decidedBy.policyId, policy_name: decidedBy.policyName } : {}),
    ...(wouldBe ? { would_be: wouldBe } : {}),
    ...(violations.length > 0 ? { violations: [...violations] } : {}),
    findings: call.findings.slice(0, findingsMax).map(publicFinding),
    matched_rules: verdict.matchedRules.map(publicRule),
    ...(tags.length > 0 ? { tags: [...tags] } : {}),
    explanation: [...explanationForAgent(call, verdict)],
  };
}

/** Returns the answer with the sanitized body, in the form in which the body was described. */
export function withSanitizedBody<T extends Partial<ScanAnswer>>(
  answer: T,
  { sanitizedBody }: Verdict,
  form: DescribedBody['form'],
): T | RawAnswer {
  if (!sanitizedBody) return answer;
  if (form !== 'json')
    return { ...answer, sanitized_body: sanitizedBody.toString(form === 'text' ? 'utf8' : 'base64') };
  // The body may be nested deeper than a serialiser can follow, so its text is put in as it is.
  const head = JSON.stringify(answer).slice(0, -1);
  const body = [Buffer.from(`${head},"sanitized_body":`), sanitizedBody, Buffer.from('}\n')];
  return new RawAnswer(200, Buffer.concat(body));
}
