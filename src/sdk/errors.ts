/** Codes with which the gateway answers (`application/problem+json`). They are public and stable. */
export const problemCodes = [
  'VALIDATION_FAILED',
  'INVALID_KEY',
  'IP_NOT_ALLOWED',
  'FORBIDDEN',
  'CROSS_TENANT',
  'CROSS_ENVIRONMENT',
  'POLICY_DENIED',
  'APPROVAL_REQUIRED',
  'EGRESS_BLOCKED',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'PROXY_AUTH_REQUIRED',
  'REPLAYED',
  'CONFLICT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'EXPECTATION_FAILED',
  'MISDIRECTED_REQUEST',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
  'HEADERS_TOO_LARGE',
  'INTERNAL',
  'UPSTREAM_UNREACHABLE',
  'UPSTREAM_TLS',
  'UPSTREAM_PROTOCOL',
  'CREDENTIAL_UNAVAILABLE',
  'STATE_UNAVAILABLE',
  'GATEWAY_BUSY',
  'SHUTTING_DOWN',
  'UPSTREAM_TIMEOUT',
] as const;

/** Codes of failures on this side of the gateway. */
export const clientCodes = [
  /** There was no connection, or it ended before the answer was whole. */
  'GATEWAY_UNREACHABLE',
  /** There was no whole answer within `timeoutMs`. */
  'GATEWAY_TIMEOUT',
  /** The server is no gateway, or its answer is unreliable: broken JSON, wrong types, a redirect. */
  'INVALID_ANSWER',
  /** The answer is a failure without a problem in it, as those of load balancers are. */
  'HTTP_ERROR',
  /** The body of a guarded call is larger than `bodyBytesMax`. */
  'BODY_TOO_LARGE',
  /** A guarded call cannot be described to the gateway as it would be sent. */
  'UNSUPPORTED_REQUEST',
  'TOO_MANY_REDIRECTS',
  /** The target of a redirect cannot be read here (browsers hide it), or no call may go there. */
  'REDIRECT_REFUSED',
  /** More answers wait to be reported than are allowed. */
  'REPORT_SKIPPED',
] as const;

export type ProblemCode = (typeof problemCodes)[number];
export type ClientCode = (typeof clientCodes)[number];
/** A code. Newer gateways may have codes that are not known here. */
export type PosternErrorCode = ProblemCode | ClientCode | (string & {});

export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export interface PosternErrorFields {
  /** The status of the answer; absent where there was none. */
  readonly status?: number;
  readonly traceId?: string;
  /** Milliseconds that the gateway asks to wait. */
  readonly retryAfterMs?: number;
  /** The fields of a request that are not valid, and why. */
  readonly errors?: readonly FieldError[];
  readonly actualBytes?: number;
  readonly limitBytes?: number;
  readonly cause?: unknown;
}

/** Says what failed in this library, by `code`. No field has the key. */
export class PosternError extends Error {
  readonly code: PosternErrorCode;
  /** Says what to change. */
  readonly detail: string;
  readonly status: number | undefined;
  readonly traceId: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly errors: readonly FieldError[];
  readonly actualBytes: number | undefined;
  readonly limitBytes: number | undefined;

  constructor(code: PosternErrorCode, detail: string, fields: PosternErrorFields = {}) {
    super(`${code}: ${detail}`, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = 'PosternError';
    this.code = code;
    this.detail = detail;
    this.status = fields.status;
    this.traceId = fields.traceId;
    this.retryAfterMs = fields.retryAfterMs;
    this.errors = fields.errors ?? [];
    this.actualBytes = fields.actualBytes;
    this.limitBytes = fields.limitBytes;
  }
}

/** The reasons why a guarded call was not sent. */
interface Refusal {
  readonly traceId: string;
  readonly reasonCodes: readonly string[];
  readonly explanation: readonly string[];
}

/** Says that a guarded call may not be made, by policy or by an analyst. Nothing of it was sent. */
export class PosternDenied extends PosternError {
  /** Codes of the reasons, the deciding one first. */
  readonly reasonCodes: readonly string[];
  /** Sentences that say why. */
  readonly explanation: readonly string[];
  /** The approval that was denied. */
  readonly approvalId: string | undefined;
  /** A text that the analyst has written. */
  readonly note: string | undefined;

  constructor(refusal: Refusal, by: { readonly approvalId?: string; readonly note?: string } = {}) {
    super('POLICY_DENIED', by.note ?? refusal.explanation[0] ?? 'The call is denied.', refusal);
    this.name = 'PosternDenied';
    this.reasonCodes = refusal.reasonCodes;
    this.explanation = refusal.explanation;
    this.approvalId = by.approvalId;
    this.note = by.note;
  }
}

/** Says that a guarded call has no approval yet (`pending`) or in time (`expired`). It was not sent. */
export class PosternApprovalRequired extends PosternError {
  readonly approvalId: string;
  readonly approvalStatus: 'pending' | 'expired';
  readonly reasonCodes: readonly string[];
  readonly explanation: readonly string[];

  constructor(refusal: Refusal, approvalId: string, approvalStatus: 'pending' | 'expired') {
    super('APPROVAL_REQUIRED', refusal.explanation[0] ?? 'The call needs an approval.', refusal);
    this.name = 'PosternApprovalRequired';
    this.approvalId = approvalId;
    this.approvalStatus = approvalStatus;
    this.reasonCodes = refusal.reasonCodes;
    this.explanation = refusal.explanation;
  }
}
