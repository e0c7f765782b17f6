/** The codes with which the gateway answers (`application/problem+json`). They are public and stable. */
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

/** Failures on this side of the gateway. */
export const clientCodes = [
  /** No connection, or one that ended before the answer was whole. */
  'GATEWAY_UNREACHABLE',
  /** No whole answer within `timeoutMs`. */
  'GATEWAY_TIMEOUT',
  /** The server is no gateway, or its answer is unreliable: broken JSON, wrong types, a redirect. */
  'INVALID_ANSWER',
  /** An answer that failed without a problem in it, as those of a load balancer do. */
  'HTTP_ERROR',
  /** The body of a guarded call is larger than `bodyBytesMax`. */
  'BODY_TOO_LARGE',
  /** A guarded call cannot be described to the gateway as it would be sent. */
  'UNSUPPORTED_REQUEST',
  'TOO_MANY_REDIRECTS',
  /** The target of a redirect cannot be read here (browsers hide it), or is no place to go to. */
  'REDIRECT_REFUSED',
  /** More answers wait to be reported than may. */
  'REPORT_SKIPPED',
] as const;

export type ProblemCode = (typeof problemCodes)[number];
export type ClientCode = (typeof clientCodes)[number];
/** Newer gateways may have codes that are not known here. */
export type PosternErrorCode = ProblemCode | ClientCode | (string & {});

export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export interface PosternErrorFields {
  /** The status of the answer; absent where there was none. */
  readonly status?: number;
  readonly traceId?: string;
  /** How long the gateway asks to wait. */
  readonly retryAfterMs?: number;
  /** The fields of a request that are not valid, and why. */
  readonly errors?: readonly FieldError[];
  readonly actualBytes?: number;
  readonly limitBytes?: number;
  readonly cause?: unknown;
}

/** Whatever fails in this library; `code` says what. The key is in none of the fields. */
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

/** Why a guarded call was not sent. */
interface Refusal {
  readonly traceId: string;
  readonly reasonCodes: readonly string[];
  readonly explanation: readonly string[];
}

/** A guarded call that may not be made, by policy or by an analyst. Nothing of it was sent. */
export class PosternDenied extends PosternError {
  /** The deciding one first. */
  readonly reasonCodes: readonly string[];
  /** Sentences that say why. */
  readonly explanation: readonly string[];
  /** The approval that was denied. */
  readonly approvalId: string | undefined;
  /** The text that the analyst has written. */
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

/** A guarded call without approval: not yet (`pending`), or not in time (`expired`). It was not sent. */
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
