import type { ApprovalResult, EphemeralKey, ResponseScanResult, ScanResult } from './answers.ts';
import type { WaitOptions } from './approval.ts';
import type { ConnectionOptions } from './connection.ts';
import type { HeaderFields } from './described.ts';

export interface GuardOptions extends CallerFields {
  /** A call with a larger body is refused unread. Default 262,144, as much as gateways take by default. */
  readonly bodyBytesMax?: number;
  /**
   * Says how a call that needs an approval goes on. It waits for the decision (default), or throws
   * PosternApprovalRequired at once.
   */
  readonly onApproval?: 'wait' | 'throw';
  /** How long it waits, for all approvals of one call together. Default 600,000. */
  readonly approvalTimeoutMs?: number;
  /** Tells the gateway what was answered, beside the caller who reads it. Default false. */
  readonly scanResponses?: boolean;
  /** The bytes of an answer that are told at most. Default 131,072. */
  readonly responseBytesMax?: number;
  /** The time for which an answer is read before it is told. Default 30,000. */
  readonly responseReadMs?: number;
  /** Takes what the gateway says of an answer. It comes when the answer may have been read already. */
  readonly onResponseScan?: (result: ResponseScanResult) => void;
  /** An answer could not be told; where absent, the console says so. */
  readonly onResponseScanFailure?: (error: unknown, traceId: string) => void;
}

/** Who makes the calls, and in which conversation. Where absent, the gateway knows it from the key. */
export interface CallerFields {
  /** A UUID. */
  readonly agentId?: string;
  readonly agentName?: string;
  /** `langchain`, `crewai`, `custom`, … */
  readonly runtimeType?: string;
  /** A text of the conversation, for the analysis of risk; at most 65,536 characters. */
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

/** An answer of an upstream. */
export interface AnsweredCall {
  /** The trace of the scan of the call; without it nothing is kept. */
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
  /** Returns a key that ends by itself, and may do less. */
  mintEphemeralKey(request?: EphemeralKeyRequest, options?: AskOptions): Promise<EphemeralKey>;
  /**
   * Returns a `fetch` that asks first. What is allowed goes out as it was judged, what is to be sanitised
   * without what must not leave, and all else not at all. See `GuardOptions`.
   */
  guard(fetch?: typeof globalThis.fetch, options?: GuardOptions): typeof globalThis.fetch;
}
