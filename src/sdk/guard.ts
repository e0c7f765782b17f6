import type { ScanResult } from './answers.ts';
import { timeoutMsMax } from './connection.ts';
import { PosternApprovalRequired, PosternDenied, PosternError } from './errors.ts';
import {
  type OutgoingCall,
  sanitizedCall,
  type TakenCall,
  takeCall,
  toDescribedHeaders,
} from './outgoing.ts';
import type { CallerFields, GuardOptions, Postern } from './postern.ts';
import { nextCall, redirectsMax } from './redirect.ts';
import { createReporter, type Report } from './report.ts';
import { within } from './time.ts';

const bytesMost = 1 << 28;
/** Approvals that a call waits for. An identical call may use one up, and this one then needs another. */
const approvalsMax = 3;

interface Judged {
  readonly call: OutgoingCall;
  readonly traceId: string;
}

interface Settings {
  readonly caller: CallerFields;
  readonly bodyBytesMax: number;
  readonly waits: boolean;
  readonly approvalTimeoutMs: number;
  readonly report: Report | undefined;
}

/**
 * Returns a `fetch` that asks the gateway before each request, those that redirects lead to included. It
 * sends what was judged, byte for byte, once. Whatever goes wrong before that, the gateway being away
 * included, ends in an error and nothing is sent.
 */
export function createFetchGuard(postern: Postern, send: typeof fetch, options: GuardOptions): typeof fetch {
  const settings = readOptions(postern, options);

  async function judge(call: OutgoingCall, signal: AbortSignal): Promise<Judged> {
    const endsAtMs = performance.now() + settings.approvalTimeoutMs;
    for (let approvals = 1; ; approvals += 1) {
      const result = await postern.scan(describe(call, settings.caller), { signal });
      if (result.decision !== 'REQUIRE_APPROVAL')
        return { call: toSend(call, result), traceId: result.traceId };
      await awaitApproval(result, approvals < approvalsMax ? endsAtMs : 0, signal);
    }
  }

  /** Returns when the call is approved; throws otherwise. */
  async function awaitApproval(result: ScanResult, endsAtMs: number, signal: AbortSignal): Promise<void> {
    // An answer that demands an approval has its id, or it would have been refused.
    const approvalId = result.approvalId ?? '';
    const timeoutMs = Math.ceil(endsAtMs - performance.now());
    if (!settings.waits || timeoutMs <= 0) throw new PosternApprovalRequired(result, approvalId, 'pending');
    const { status, note } = await postern.waitForApproval(approvalId, { timeoutMs, signal });
    if (status === 'denied')
      throw new PosternDenied(result, { approvalId, ...(note === undefined ? {} : { note }) });
    if (status !== 'approved') throw new PosternApprovalRequired(result, approvalId, status);
  }

  async function follow({ call: first, redirect, signal, manner }: TakenCall): Promise<Response> {
    let call = first;
    for (let redirects = 0; ; redirects += 1) {
      const judged = await judge(call, signal);
      signal.throwIfAborted();
      const response = await sendJudged(judged.call, signal, manner);
      const next = redirect === 'manual' ? undefined : toNext(judged.call, response);
      if (!next) {
        settings.report?.(response, judged.traceId);
        return response;
      }
      // Nobody may read the body beside a Location. Nobody waits for the end, since the source may take its
      // time to stop.
      response.body?.cancel().catch(() => undefined);
      if (redirect === 'error')
        throw new TypeError('The answer is a redirect, which the call does not allow.');
      if (redirects >= redirectsMax)
        throw new PosternError('TOO_MANY_REDIRECTS', `A guarded call is led on ${redirectsMax} times.`);
      call = next;
    }
  }

  function sendJudged(call: OutgoingCall, signal: AbortSignal, manner: RequestInit): Promise<Response> {
    const { method, url, headers, body } = call;
    const content = body === undefined ? {} : { body };
    // The runtime must not follow a redirect, since an allowed address could lead to one that was not judged.
    return send(url, { ...manner, method, headers: [...headers], ...content, redirect: 'manual', signal });
  }

  return async (input, init) => await follow(await takeCall(input, init, settings.bodyBytesMax));
}

function readOptions(postern: Postern, options: GuardOptions): Settings {
  const { agentId, agentName, runtimeType, context, env, onApproval = 'wait' } = options;
  if (onApproval !== 'wait' && onApproval !== 'throw')
    throw new TypeError("onApproval must be 'wait' or 'throw'.");
  const reporter = {
    bytesMax: within('responseBytesMax', options.responseBytesMax ?? 131_072, 1, bytesMost),
    readMs: within('responseReadMs', options.responseReadMs ?? 30_000, 1, timeoutMsMax),
    onReport: options.onResponseScan ?? (() => undefined),
    onFailure: options.onResponseScanFailure ?? warn,
  };
  return {
    caller: Object.fromEntries(
      Object.entries({ agentId, agentName, runtimeType, context, env }).filter(([, it]) => it !== undefined),
    ),
    bodyBytesMax: within('bodyBytesMax', options.bodyBytesMax ?? 262_144, 0, bytesMost),
    waits: onApproval === 'wait',
    approvalTimeoutMs: within(
      'approvalTimeoutMs',
      options.approvalTimeoutMs ?? 600_000,
      1,
      24 * timeoutMsMax,
    ),
    report: options.scanResponses ? createReporter(postern, reporter) : undefined,
  };
}

function warn(error: unknown, traceId: string): void {
  const code = error instanceof PosternError ? error.code : 'an unknown error';
  console.warn(`postern: the answer to call ${traceId} was not reported: ${code}`);
}

function describe(call: OutgoingCall, caller: CallerFields) {
  const { method, url, headers, body } = call;
  const content = body === undefined ? {} : { body };
  return { ...caller, method, url, headers: toDescribedHeaders(headers), ...content };
}

/** Returns the call that may be sent; throws where none may. */
function toSend(call: OutgoingCall, result: ScanResult): OutgoingCall {
  if (result.decision === 'ALLOW') return call;
  if (result.decision === 'SANITIZE')
    return sanitizedCall(call, result.sanitizedBody as Uint8Array | undefined);
  throw new PosternDenied(result);
}

function toNext(call: OutgoingCall, response: Response): OutgoingCall | undefined {
  if (response.type === 'opaqueredirect')
    throw new PosternError(
      'REDIRECT_REFUSED',
      'The answer is a redirect, and browsers do not tell where to: it cannot be judged. Call the address itself.',
    );
  return nextCall(call, response.status, response.headers.get('location'));
}
