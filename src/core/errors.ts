interface Problem {
  readonly status: number;
  readonly title: string;
  /** The error type in the header `Proxy-Status` (RFC 9209). */
  readonly proxyStatus: string;
}

const problem = (status: number, title: string, proxyStatus: string): Problem => ({
  status,
  title,
  proxyStatus,
});

/**
 * Every failure that a caller can see, in one table. Codes are public and stable. A denial is not a failure:
 * it is an answer, and so a `Verdict`. A failure is thrown as a `GatewayError` and ends as the body of RFC
 * 9457 that `toProblem` makes.
 */
export const problems = {
  VALIDATION_FAILED: problem(400, 'The request is not valid', 'http_request_error'),
  INVALID_KEY: problem(401, 'The API key is missing, malformed, revoked or expired', 'http_request_denied'),
  IP_NOT_ALLOWED: problem(403, 'The key may not be used from this address', 'http_request_denied'),
  FORBIDDEN: problem(403, 'The caller may not do this', 'http_request_denied'),
  CROSS_TENANT: problem(403, 'The agent belongs to another tenant', 'http_request_denied'),
  CROSS_ENVIRONMENT: problem(403, 'The agent belongs to another environment', 'http_request_denied'),
  POLICY_DENIED: problem(403, 'A policy denies this call', 'http_request_denied'),
  APPROVAL_REQUIRED: problem(403, 'This call needs an approval', 'http_request_denied'),
  EGRESS_BLOCKED: problem(403, 'The upstream address is not allowed', 'destination_ip_prohibited'),
  NOT_FOUND: problem(404, 'There is no such thing here', 'http_request_error'),
  METHOD_NOT_ALLOWED: problem(405, 'The method is not allowed here', 'http_request_error'),
  PROXY_AUTH_REQUIRED: problem(407, 'The proxy needs an API key', 'http_request_denied'),
  REPLAYED: problem(409, 'The request was seen before or is too old', 'http_request_denied'),
  CONFLICT: problem(409, 'The request conflicts with what stands', 'http_request_error'),
  PAYLOAD_TOO_LARGE: problem(413, 'The request body is too large', 'http_request_error'),
  UNSUPPORTED_MEDIA_TYPE: problem(415, 'The content type is not supported', 'http_request_error'),
  EXPECTATION_FAILED: problem(417, 'The expectation cannot be met', 'http_request_error'),
  MISDIRECTED_REQUEST: problem(421, 'The tunnel was opened for another host', 'http_request_error'),
  RATE_LIMITED: problem(429, 'Too many calls', 'http_request_denied'),
  QUOTA_EXCEEDED: problem(429, 'The monthly quota is used up', 'http_request_denied'),
  HEADERS_TOO_LARGE: problem(431, 'The request headers are too large', 'http_request_error'),
  INTERNAL: problem(500, 'Internal error', 'proxy_internal_error'),
  UPSTREAM_UNREACHABLE: problem(502, 'The upstream cannot be reached', 'destination_unavailable'),
  UPSTREAM_TLS: problem(502, 'The upstream failed TLS verification', 'tls_certificate_error'),
  UPSTREAM_PROTOCOL: problem(502, 'The upstream broke the protocol', 'http_protocol_error'),
  CREDENTIAL_UNAVAILABLE: problem(502, 'The stored credential is not available', 'proxy_configuration_error'),
  STATE_UNAVAILABLE: problem(503, 'The state is not available', 'proxy_internal_error'),
  GATEWAY_BUSY: problem(503, 'The gateway is at its limit', 'connection_limit_reached'),
  SHUTTING_DOWN: problem(503, 'The gateway is shutting down', 'proxy_internal_error'),
  UPSTREAM_TIMEOUT: problem(504, 'The upstream did not answer in time', 'connection_timeout'),
} as const;

export type ProblemCode = keyof typeof problems;

/** Fields that a `GatewayError` may add to its public body, by their public names. */
interface ProblemExtra {
  errors?: readonly { path: string; message: string }[];
  actual_bytes?: number;
  limit_bytes?: number;
  retryAfterSeconds?: number;
  /** The methods that the place takes, for the field `Allow`. */
  allow?: string;
  approval_id?: string;
  status_url?: string;
  reason_codes?: readonly string[];
  explanation?: readonly string[];
  /** The earlier decision, where a request comes too late. */
  standing?: { readonly decision: string; readonly decided_at: string | null };
}

/**
 * Tells of a failure by a public code. Its message, `detail`, says what to change, and quotes neither secrets
 * nor content.
 */
export class GatewayError extends Error {
  readonly code: ProblemCode;
  readonly extra: ProblemExtra;
  /** The id of the trace. The pipeline sets it once the refused call has left its trace. */
  traceId: string | undefined;

  constructor(code: ProblemCode, detail: string, extra: ProblemExtra = {}, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause });
    this.name = 'GatewayError';
    this.code = code;
    this.extra = extra;
  }
}

/** Returns the failure of a method that a place does not take (RFC 9110, 15.5.6). `allow` lists those that it takes. */
export const methodNotAllowed = (allow: string): GatewayError =>
  new GatewayError('METHOD_NOT_ALLOWED', `Use ${allow} here.`, { allow });

/** Returns the failure that says that the state cannot be read or written. Nothing has changed then. */
export const stateUnavailable = (detail: string, cause?: unknown): GatewayError =>
  new GatewayError('STATE_UNAVAILABLE', detail, {}, cause);

/**
 * Returns the failure as the caller may see it. An unknown error becomes INTERNAL, which tells nothing of its
 * cause.
 */
export function toGatewayError(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : new GatewayError('INTERNAL', 'The gateway failed; its log says why.', {}, error);
}

/** Returns the body of a failure (RFC 9457), as an object to be serialised. */
export function toProblem(error: GatewayError): Record<string, unknown> {
  const { status, title } = problems[error.code];
  const { retryAfterSeconds: _, allow: __, ...extra } = error.extra;
  return {
    type: `urn:postern:problem:${error.code.toLowerCase().replaceAll('_', '-')}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    ...(status === 403 || status === 429 ? { reason: error.code } : {}),
    ...(error.traceId ? { trace_id: error.traceId } : {}),
    // An empty path stands for the whole request.
    ...(status === 400 ? { errors: [{ path: '', message: error.message }] } : {}),
    ...extra,
  };
}
