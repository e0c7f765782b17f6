import type { ApprovalResult, EphemeralKey, ResponseScanResult, ScanResult } from './answers.ts';
import type { WaitOptions } from './approval.ts';
import type { ConnectionOptions } from './connection.ts';
import type { HeaderFields } from './described.ts';

export interface GuardOptions extends CallerFields {
  /** Bytes of a body; a call with a larger one is refused unread. 262,144 by default, as in gateways. */
  readonly bodyBytesMax?: number;
  /**
   * Says how a call that needs an approval goes on. It waits for the decision (default), or throws
   * PosternApprovalRequired at once.
   */
  readonly onApproval?: 'wait' | 'throw';
  /** Milliseconds to wait, for all approvals of one call together; 600,000 by default. */
  readonly approvalTimeoutMs?: number;
  /** Set to tell the gateway what was answered, while the caller reads it; false by default. */
  readonly scanResponses?: boolean;
  /** Bytes of an answer that are told at most; 131,072 by default. */
  readonly responseBytesMax?: number;
  /** Milliseconds for which an answer is read before it is told; 30,000 by default. */
  readonly responseReadMs?: number;
  /** Takes what the gateway says of an answer, which the caller may have read already by then. */
  readonly onResponseScan?: (result: ResponseScanResult) => void;
  /** Hears that an answer could not be told; the console says so where it is absent. */
  readonly onResponseScanFailure?: (error: unknown, traceId: string) => void;
}

/** The maker of the calls, and the conversation. The gateway knows from the key what is absent. */
export interface CallerFields {
  /** The agent's id, a UUID. */
  readonly agentId?: string;
  readonly agentName?: string;
  /** Kind of program: `langchain`, `crewai`, `custom`, … */
  readonly runtimeType?: string;
  /** A text of the conversation, for the analysis of risk; at most 65,536 characters. */
  readonly context?: string;
  /** An environment that the key may use. */
  readonly env?: string;
}

/** An intended call. */
export interface ScanCall extends CallerFields {
  readonly method: string;
  /** The absolute URL. */
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
  /** Seconds that the key lives, 1 to 86,400; 600 by default. */
  readonly ttlSeconds?: number;
  /** Calls that the key may make, 1 to 1,000; absent for any number. */
  readonly maxUses?: number;
  /** Tools and verbs that the key may use. An absent list means all, an empty one none. */
  readonly scope?: { readonly tools?: readonly string[]; readonly verbs?: readonly string[] };
  readonly description?: string;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface PosternOptions extends ConnectionOptions, CallerFields {}

/** A gateway, as an agent uses it. All methods throw a PosternError or, where a signal aborts, its reason. */
export interface Postern {
  /** Returns the decision on an intended call. Nothing is sent but to the gateway. */
  scan(call: ScanCall, options?: AskOptions): Promise<ScanResult>;
  /** Classifies what an upstream has answered, and keeps it with the trace of the call. */
  scanResponse(answer: AnsweredCall, options?: AskOptions): Promise<ResponseScanResult>;
  /** Resolves when the approval is decided or expired, or with `pending` when `timeoutMs` is over. */
  waitForApproval(approvalId: string, options?: WaitOptions): Promise<ApprovalResult>;
  /** Returns a key that ends by itself, and may do less. */
  mintEphemeralKey(request?: EphemeralKeyRequest, options?: AskOptions): Promise<EphemeralKey>;
  /**
   * Returns a `fetch` that asks the gateway first. An allowed call goes out as it was judged, and a sanitized
   * one without what must not leave. All others are not sent. See `GuardOptions`.
   */
  guard(fetch?: typeof globalThis.fetch, options?: GuardOptions): typeof globalThis.fetch;
}
