import { z } from 'zod';
import { Call, type Verdict } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import { newTraceId, parseUuid } from '../../ids.ts';
import { publicFinding, publicRule } from '../../pipeline/record.ts';
import { parseTarget } from '../../target.ts';
import { jsonValueSpan } from '../../text/locate.ts';
import { invalid } from '../invalid.ts';
import { route } from '../route.ts';

/** RFC 9110, 5.6.2. */
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const headersMax = 1000;
const findingsMax = 100;

const scanRequest = z.object({
  method: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/, 'must be an HTTP method'),
  url: z.string().min(1),
  body: z.unknown().optional(),
  headers: z.unknown().optional(),
  agent_id: z.string().nullish(),
  agent_name: z.string().max(128).nullish(),
  runtime_type: z.string().max(64).nullish(),
  context: z.string().max(65_536).nullish(),
  env: z.string().max(128).nullish(),
});

type ScanRequest = z.infer<typeof scanRequest>;

/** `POST /v1/scan`: judges a described call. The answer tells the caller what the proxies would have done. */
export const scan = route({
  method: 'POST',
  path: '/v1/scan',
  access: 'scan',
  body: scanRequest,
  async handle({ gate, authorization, body: request, raw, clientAddress, nowMs }) {
    const described = describedBody(request.body, raw);
    const headers = flatHeaders(request.headers);
    const call = new Call({
      traceId: newTraceId(nowMs),
      entrance: 'scan',
      receivedAtMs: nowMs,
      clientAddress,
      key: gate.readKey(authorization.replace(/^Bearer +/i, '')),
      method: request.method.toUpperCase(),
      target: parseTarget(request.url),
      headers,
      body: described.bytes,
      // What is described as a value is JSON, whatever its header says, and is answered as JSON.
      contentType: described.isText ? (headerOf(headers, 'content-type') ?? '') : 'application/json',
      contentEncoding: '',
      claimed: claimedIn(request),
      lastHead: undefined,
    });
    const verdict = await gate.inspect(call);
    return { status: 200, body: toAnswer(call, verdict, described.isText) };
  },
});

function toAnswer(call: Call, verdict: Verdict, isText: boolean): unknown {
  const { decidedBy, approval, wouldBe, sanitizedBody } = verdict;
  const answer = {
    decision: verdict.decision,
    risk_score: call.riskScore,
    risk_band: call.riskBand,
    reason_codes: verdict.reasonCodes,
    trace_id: call.traceId,
    tool_name: call.operation?.toolName,
    operation: call.operation?.name,
    classifications: verdict.classifications,
    signals: call.signals,
    ...(approval ? { approval_id: approval.approvalId } : {}),
    ...(decidedBy ? { policy_id: decidedBy.policyId, policy_name: decidedBy.policyName } : {}),
    ...(wouldBe ? { would_be: wouldBe } : {}),
    findings: call.findings.slice(0, findingsMax).map(publicFinding),
    matched_rules: verdict.matchedRules.map(publicRule),
    explanation: verdict.explanation,
  };
  if (!sanitizedBody) return answer;
  if (isText) return { ...answer, sanitized_body: sanitizedBody.toString('utf8') };
  // The value goes into the answer as the JSON that it is: it may be nested deeper than a serialiser can follow.
  const head = JSON.stringify(answer).slice(0, -1);
  return Buffer.concat([Buffer.from(`${head},"sanitized_body":`), sanitizedBody, Buffer.from('}\n')]);
}

/** The body's bytes as the proxy would have seen them: text as UTF-8, any other value as the JSON that was received. */
function describedBody(value: unknown, raw: Buffer): { bytes: Buffer; isText: boolean } {
  if (value === undefined || value === null) return { bytes: Buffer.alloc(0), isText: true };
  if (typeof value === 'string') return { bytes: Buffer.from(value, 'utf8'), isText: true };
  const span = jsonValueSpan(raw, 'body');
  if (!span)
    throw new GatewayError('VALIDATION_FAILED', 'The body of the call cannot be told from the request.');
  return { bytes: raw.subarray(span.start, span.end), isText: false };
}

/**
 * Flat [name, value, …] in which, as on the wire, one character is one byte. Read from the object itself, since a name may be one
 * that objects treat specially.
 */
function flatHeaders(described: unknown): string[] {
  if (described === undefined || described === null) return [];
  if (typeof described !== 'object' || Array.isArray(described))
    throw invalid([{ path: 'headers', message: 'must be an object' }]);
  const flat: string[] = [];
  for (const [name, value] of Object.entries(described)) {
    if (!fieldName.test(name))
      throw invalid([{ path: 'headers', message: 'has a name that is no header name' }]);
    for (const one of Array.isArray(value) ? value : [value]) {
      const text = ['string', 'number', 'boolean'].includes(typeof one) ? String(one) : undefined;
      if (text === undefined || /[\r\n\0]/.test(text)) {
        throw invalid([
          { path: `headers.${name}`, message: 'must be text without line ends, or a list of such' },
        ]);
      }
      flat.push(name, Buffer.from(text, 'utf8').toString('latin1'));
    }
  }
  if (flat.length > headersMax * 2)
    throw invalid([{ path: 'headers', message: `may have ${headersMax} fields` }]);
  return flat;
}

function headerOf(flat: readonly string[], name: string): string | undefined {
  const at = flat.findIndex((it, i) => i % 2 === 0 && it.toLowerCase() === name);
  return at < 0 ? undefined : flat[at + 1];
}

function claimedIn(request: ScanRequest): Call['claimed'] {
  const agentId = request.agent_id ? parseUuid(request.agent_id) : undefined;
  if (request.agent_id && !agentId) {
    throw invalid([{ path: 'agent_id', message: 'must be a UUID' }]);
  }
  return {
    ...(agentId ? { agentId } : {}),
    ...(request.agent_name ? { agentName: request.agent_name } : {}),
    ...(request.runtime_type ? { runtimeType: request.runtime_type } : {}),
    ...(request.context ? { context: request.context } : {}),
    ...(request.env ? { envName: request.env } : {}),
  };
}
