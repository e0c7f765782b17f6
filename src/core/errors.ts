/**
 * Every failure that a caller can see, in one table. Codes are public and stable. A denial is not here: it is an answer, a
 * `Verdict`; what stands here is thrown as a `GatewayError` and ends as an RFC 9457 body (`toProblem`).
 */
export const problems = {
  VALIDATION_FAILED: { status: 400, title: 'The request is not valid', proxyStatus: 'http_request_error' },
  INVALID_KEY: {
    status: 401,
    title: 'The API key is missing, malformed, revoked or expired',
    proxyStatus: 'http_request_denied',
  },
  IP_NOT_ALLOWED: {
    status: 403,
    title: 'The key may not be used from this address',
    proxyStatus: 'http_request_denied',
  },
  FORBIDDEN: { status: 403, title: 'The caller may not do this', proxyStatus: 'http_request_denied' },
  CROSS_TENANT: {
    status: 403,
    title: 'The agent belongs to another tenant',
    proxyStatus: 'http_request_denied',
  },
  CROSS_ENVIRONMENT: {
    status: 403,
    title: 'The agent belongs to another environment',
    proxyStatus: 'http_request_denied',
  },
  POLICY_DENIED: { status: 403, title: 'A policy denies this call', proxyStatus: 'http_request_denied' },
  APPROVAL_REQUIRED: {
    status: 403,
    title: 'This call needs an approval',
    proxyStatus: 'http_request_denied',
  },
  EGRESS_BLOCKED: {
    status: 403,
    title: 'The upstream address is not allowed',
    proxyStatus: 'destination_ip_prohibited',
  },
  NOT_FOUND: { status: 404, title: 'There is no such thing here', proxyStatus: 'http_request_error' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'The method is not allowed here',
    proxyStatus: 'http_request_error',
  },
  PROXY_AUTH_REQUIRED: {
    status: 407,
    title: 'The proxy needs an API key',
    proxyStatus: 'http_request_denied',
  },
  REPLAYED: {
    status: 409,
    title: 'The request was seen before or is too old',
    proxyStatus: 'http_request_denied',
  },
  CONFLICT: {
    status: 409,
    title: 'The request conflicts with what stands',
    proxyStatus: 'http_request_error',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    title: 'The request body is too large',
    proxyStatus: 'http_request_error',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'The content type is not supported',
    proxyStatus: 'http_request_error',
  },
  EXPECTATION_FAILED: {
    status: 417,
    title: 'The expectation cannot be met',
    proxyStatus: 'http_request_error',
  },
  MISDIRECTED_REQUEST: {
    status: 421,
    title: 'The tunnel was opened for another host',
    proxyStatus: 'http_request_error',
  },
  RATE_LIMITED: { status: 429, title: 'Too many calls', proxyStatus: 'http_request_denied' },
  QUOTA_EXCEEDED: { status: 429, title: 'The monthly quota is used up', proxyStatus: 'http_request_denied' },
  HEADERS_TOO_LARGE: {
    status: 431,
    title: 'The request headers are too large',
    proxyStatus: 'http_request_error',
  },
  INTERNAL: { status: 500, title: 'Internal error', proxyStatus: 'proxy_internal_error' },
  UPSTREAM_UNREACHABLE: {
    status: 502,
    title: 'The upstream cannot be reached',
    proxyStatus: 'destination_unavailable',
  },
  UPSTREAM_TLS: {
    status: 502,
    title: 'The upstream failed TLS verification',
    proxyStatus: 'tls_certificate_error',
  },
  UPSTREAM_PROTOCOL: {
    status: 502,
    title: 'The upstream broke the protocol',
    proxyStatus: 'http_protocol_error',
  },
  CREDENTIAL_UNAVAILABLE: {
    status: 502,
    title: 'The stored credential is not available',
    proxyStatus: 'proxy_configuration_error',
  },
  STATE_UNAVAILABLE: {
    status: 503,
    title: 'The state is not available',
    proxyStatus: 'proxy_internal_error',
  },
  GATEWAY_BUSY: {
    status: 503,
    title: 'The gateway is at its limit',
    proxyStatus: 'connection_limit_reached',
  },
  SHUTTING_DOWN: { status: 503, title: 'The gateway is shutting down', proxyStatus: 'proxy_internal_error' },
  UPSTREAM_TIMEOUT: {
    status: 504,
    title: 'The upstream did not answer in time',
    proxyStatus: 'connection_timeout',
  },
} as const satisfies Record<string, { status: number; title: string; proxyStatus: string }>;

export type ProblemCode = keyof typeof problems;

/** Fields that a `GatewayError` may add to its public body, by their public names. */
interface ProblemExtra {
  errors?: readonly { path: string; message: string }[];
  actual_bytes?: number;
  limit_bytes?: number;
  retryAfterSeconds?: number;
  approval_id?: string;
  status_url?: string;
  reason_codes?: readonly string[];
  explanation?: readonly string[];
  /** The earlier decision, where a request comes too late. */
  standing?: { readonly decision: string; readonly decided_at: string | null };
}

/** A failure with a public code. `detail` says what to change and never quotes a secret or the caller's content. */
export class GatewayError extends Error {
  readonly code: ProblemCode;
  readonly extra: ProblemExtra;
  /** Set by the pipeline once the refused call has left its trace. */
  traceId: string | undefined;

  constructor(code: ProblemCode, detail: string, extra: ProblemExtra = {}, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause });
    this.name = 'GatewayError';
    this.code = code;
    this.extra = extra;
  }
}

/** The failure as the caller may see it: an unknown error says nothing of its insides. */
export function toGatewayError(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : new GatewayError('INTERNAL', 'The gateway failed; its log says why.', {}, error);
}

/** The RFC 9457 body of a failure, as an object to be serialised. */
export function toProblem(error: GatewayError): Record<string, unknown> {
  const { status, title } = problems[error.code];
  const { retryAfterSeconds: _, ...extra } = error.extra;
  return {
    type: `urn:postern:problem:${error.code.toLowerCase().replaceAll('_', '-')}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    ...(status === 403 || status === 429 ? { reason: error.code } : {}),
    ...(error.traceId ? { trace_id: error.traceId } : {}),
    ...extra,
  };
}
