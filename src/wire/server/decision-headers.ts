import type { Verdict } from '../../core/call.ts';

/** Names of the gateway's own fields. The middle word of each is the administrator's choice. */
export interface HeaderNames {
  readonly decision: string;
  readonly traceId: string;
  readonly reasons: string;
  readonly approvalId: string;
  /** Members of a request to the API that nobody has read. */
  readonly ignored: string;
  /** Lower-case beginning of request headers that are read and removed: `x-service-`. */
  readonly requestPrefix: string;
}

export function headerNames(word: string): HeaderNames {
  return {
    decision: `X-${word}-Decision`,
    traceId: `X-${word}-Trace-Id`,
    reasons: `X-${word}-Reasons`,
    approvalId: `X-${word}-Approval-Id`,
    ignored: `X-${word}-Ignored`,
    requestPrefix: `x-${word.toLowerCase()}-`,
  };
}

/** Returns the fields that say what was decided, flat. They stand on every answer of the proxies. */
export function decisionHeaders(names: HeaderNames, traceId: string, verdict: Verdict): string[] {
  const headers = [names.decision, verdict.decision, names.traceId, traceId];
  if (verdict.reasonCodes.length > 0) headers.push(names.reasons, verdict.reasonCodes.join(','));
  if (verdict.approval) headers.push(names.approvalId, verdict.approval.approvalId);
  return headers;
}

/** Returns the same fields for a call that got no verdict: it did not go out, and `code` says why. */
export const refusalHeaders = (names: HeaderNames, traceId: string, code: string): string[] => [
  names.decision,
  'DENY',
  names.traceId,
  traceId,
  names.reasons,
  code,
];
