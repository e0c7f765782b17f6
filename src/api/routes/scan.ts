import { z } from 'zod';
import { Call } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import { newTraceId, parseUuid } from '../../ids.ts';
import { publicFinding, publicRule } from '../../pipeline/record.ts';
import { parseTarget } from '../../target.ts';
import { jsonValueSpan } from '../../text/locate.ts';
import { route } from '../route.ts';

const headerValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

const scanRequest = z.object({
  method: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/, 'must be an HTTP method'),
  url: z.string().min(1),
  body: z.unknown().optional(),
  headers: z.record(z.string().max(256), headerValue).nullish(),
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
    const headers = flatHeaders(request.headers ?? {});
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
      contentType: headerOf(headers, 'content-type') ?? (described.isText ? '' : 'application/json'),
      contentEncoding: '',
      claimed: claimedIn(request),
      lastHead: undefined,
    });
    const verdict = await gate.inspect(call);
    return {
      status: 200,
      body: {
        decision: verdict.decision,
        risk_score: call.riskScore,
        risk_band: call.riskBand,
        reason_codes: verdict.reasonCodes,
        trace_id: call.traceId,
        tool_name: call.operation?.toolName,
        operation: call.operation?.name,
        classifications: verdict.classifications,
        signals: call.signals,
        ...(verdict.sanitizedBody
          ? { sanitized_body: sanitizedValue(verdict.sanitizedBody, described.isText) }
          : {}),
        ...(verdict.approval ? { approval_id: verdict.approval.approvalId } : {}),
        ...(verdict.decidedBy
          ? { policy_id: verdict.decidedBy.policyId, policy_name: verdict.decidedBy.policyName }
          : {}),
        ...(verdict.wouldBe ? { would_be: verdict.wouldBe } : {}),
        findings: call.findings.slice(0, 100).map(publicFinding),
        matched_rules: verdict.matchedRules.map(publicRule),
        explanation: verdict.explanation,
      },
    };
  },
});

/** The body's bytes as the proxy would have seen them: text as UTF-8, any other value as the JSON that was received. */
function describedBody(value: unknown, raw: Buffer): { bytes: Buffer; isText: boolean } {
  if (value === undefined || value === null) return { bytes: Buffer.alloc(0), isText: true };
  if (typeof value === 'string') return { bytes: Buffer.from(value, 'utf8'), isText: true };
  const span = jsonValueSpan(raw, 'body');
  if (!span)
    throw new GatewayError('VALIDATION_FAILED', 'The body of the call cannot be told from the request.');
  return { bytes: raw.subarray(span.start, span.end), isText: false };
}

const sanitizedValue = (bytes: Buffer, isText: boolean): unknown =>
  isText ? bytes.toString('utf8') : JSON.parse(bytes.toString('utf8'));

/** Flat [name, value, …] in which, as on the wire, one character is one byte. */
function flatHeaders(headers: Readonly<Record<string, z.infer<typeof headerValue>>>): string[] {
  const flat: string[] = [];
  const onWire = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  for (const [name, value] of Object.entries(headers)) {
    for (const one of Array.isArray(value) ? value : [String(value)]) flat.push(onWire(name), onWire(one));
  }
  return flat;
}

function headerOf(flat: readonly string[], name: string): string | undefined {
  const at = flat.findIndex((it, i) => i % 2 === 0 && it.toLowerCase() === name);
  return at < 0 ? undefined : flat[at + 1];
}

function claimedIn(request: ScanRequest): Call['claimed'] {
  const agentId = request.agent_id ? parseUuid(request.agent_id) : undefined;
  if (request.agent_id && !agentId) {
    const message = 'must be a UUID';
    throw new GatewayError('VALIDATION_FAILED', `agent_id: ${message}`, {
      errors: [{ path: 'agent_id', message }],
    });
  }
  return {
    ...(agentId ? { agentId } : {}),
    ...(request.agent_name ? { agentName: request.agent_name } : {}),
    ...(request.runtime_type ? { runtimeType: request.runtime_type } : {}),
    ...(request.context ? { context: request.context } : {}),
    ...(request.env ? { envName: request.env } : {}),
  };
}
