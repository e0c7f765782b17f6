import {
  type ApprovalResult,
  type EphemeralKey,
  type ResponseScanResult,
  type ScanResult,
  toEphemeralKey,
  toResponseScanResult,
  toScanResult,
} from './answers.ts';
import { type WaitOptions, waitForApproval } from './approval.ts';
import { type ConnectionOptions, createConnection } from './connection.ts';
import { describeBody, type HeaderFields } from './described.ts';
import { createGuard, type GuardOptions } from './guard.ts';

/** Who makes the calls, and in which conversation. Where absent, the gateway knows it from the key. */
export interface CallerFields {
  /** A UUID. */
  readonly agentId?: string;
  readonly agentName?: string;
  /** `langchain`, `crewai`, `custom`, … */
  readonly runtimeType?: string;
  /** Of the conversation, for the analysis of risk; at most 65,536 characters. */
  readonly context?: string;
  /** An environment that the key may use. */
  readonly env?: string;
}

/** An intended call. */
export interface ScanCall extends CallerFields {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  /** A text, bytes (`ArrayBuffer` or a view of one), or any value that JSON has. */
  readonly body?: unknown;
  readonly headers?: HeaderFields;
}

/** What an upstream has answered. */
export interface AnsweredCall {
  /** Of the scan of the call; without it nothing is kept. */
  readonly traceId?: string;
  /** A text, bytes, or any value that JSON has. */
  readonly responseBody?: unknown;
  readonly responseStatus?: number;
  readonly headers?: HeaderFields;
}

export interface EphemeralKeyRequest {
  /** 1 to 86,400; default 600. */
  readonly ttlSeconds?: number;
  /** 1 to 1,000; absent: as often as its lifetime allows. */
  readonly maxUses?: number;
  /** Absent: all; empty: none. */
  readonly scope?: { readonly tools?: readonly string[]; readonly verbs?: readonly string[] };
  readonly description?: string;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface PosternOptions extends ConnectionOptions, CallerFields {}

/** A gateway, as an agent uses it. All of it throws PosternError; where a signal aborts, its reason. */
export interface Postern {
  /** The decision on an intended call. Nothing is sent but to the gateway. */
  scan(call: ScanCall, options?: AskOptions): Promise<ScanResult>;
  /** Classifies what an upstream has answered, and keeps it with the trace of the call. */
  scanResponse(answer: AnsweredCall, options?: AskOptions): Promise<ResponseScanResult>;
  /** Resolves when the approval is decided or expired, or with `pending` when `timeoutMs` is over. */
  waitForApproval(approvalId: string, options?: WaitOptions): Promise<ApprovalResult>;
  /** A key that ends by itself, and may do less. */
  mintEphemeralKey(request?: EphemeralKeyRequest, options?: AskOptions): Promise<EphemeralKey>;
  /**
   * A `fetch` that asks first. What is allowed goes out as it was judged, what is to be sanitised without what must not leave, and all else
   * not at all. See `GuardOptions`.
   */
  guard(fetch?: typeof globalThis.fetch, options?: GuardOptions): typeof globalThis.fetch;
}

/** Opens nothing: there is nothing to close. The key stays inside. */
export function createPostern(options: PosternOptions): Postern {
  const ask = createConnection(options);
  const caller = callerFields(options);

  const postern: Postern = {
    async scan(call, { signal } = {}) {
      const body = describeBody(call.body, call.headers);
      const { method, url, headers } = call;
      const request = { method, url, headers, ...body.fields, ...caller, ...callerFields(call) };
      const result = toScanResult(await ask({ method: 'POST', path: '/v1/scan', body: request, signal }));
      if (!('sanitizedBody' in result)) return result;
      return { ...result, sanitizedBody: body.toSanitized(result.sanitizedBody) };
    },
    async scanResponse({ traceId, responseBody, responseStatus, headers }, { signal } = {}) {
      const { body, ...encoding } = describeBody(responseBody, undefined).fields;
      const request = {
        trace_id: traceId,
        response_body: body,
        response_status: responseStatus,
        headers,
        ...encoding,
      };
      return toResponseScanResult(
        await ask({ method: 'POST', path: '/v1/scan/response', body: request, signal }),
      );
    },
    waitForApproval: (approvalId, waitOptions) => waitForApproval(ask, approvalId, waitOptions),
    async mintEphemeralKey({ ttlSeconds, maxUses, scope, description } = {}, { signal } = {}) {
      const request = { ttl_seconds: ttlSeconds, max_uses: maxUses, scope, description };
      return toEphemeralKey(await ask({ method: 'POST', path: '/v1/keys/ephemeral', body: request, signal }));
    },
    guard: (fetch = globalThis.fetch, guardOptions = {}) => createGuard(postern, fetch, guardOptions),
  };
  return postern;
}

/** Without those that are absent: what one call says goes before what all say. */
function callerFields({ agentId, agentName, runtimeType, context, env }: CallerFields): object {
  const fields = { agent_id: agentId, agent_name: agentName, runtime_type: runtimeType, context, env };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
