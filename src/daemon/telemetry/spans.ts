import { type CallSoFar, type DecidedCall, isTunnel } from '../../core/call.ts';
import { type GatewayError, problems } from '../../core/errors.ts';
import { newTraceId } from '../../core/ids.ts';
import { joined, ownName, type SafeName } from '../../core/safe-name.ts';
import type { CallEnd, CallWatch, GoingCall } from '../../decision/call-watch.ts';
import { goesOut } from './access-log.ts';
import { type Attributes, decisionAttributes, targetAttributes } from './attributes.ts';
import { contextOf, isSigned, spanIdOf, type TraceContext, toTraceparent } from './trace-context.ts';

/** OTLP's numbers of span kinds. */
const spanKinds = { internal: 1, server: 2, client: 3 } as const;

export interface CallSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: SafeName;
  readonly kind: (typeof spanKinds)[keyof typeof spanKinds];
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

/**
 * Makes two spans of a call. That of the gateway lasts from receiving the call to the end of its answer.
 * Below it is that of the request that went out, which the request names in `traceparent`.
 */
export const createSpans = (take: (span: CallSpan) => void, now: () => number): CallWatch => ({
  decided(call, refusal) {
    if (!goesOut(call)) take(gatewaySpan(call, refusal, now()));
  },
  begin: (call) => new Going(call, take, now),
});

class Going implements GoingCall {
  readonly fields: readonly string[];
  readonly #call: DecidedCall;
  readonly #take: (span: CallSpan) => void;
  readonly #now: () => number;
  readonly #context: TraceContext;
  readonly #spanId: string;
  readonly #startMs: number;
  #hasEnded = false;

  constructor(call: DecidedCall, take: (span: CallSpan) => void, now: () => number) {
    this.#call = call;
    this.#take = take;
    this.#now = now;
    this.#startMs = now();
    this.#context = contextOf(call.received);
    this.#spanId = spanIdOf(newTraceId(this.#startMs));
    const isTheirs = isSigned(call.headers);
    this.fields = isTheirs ? [] : ['traceparent', toTraceparent(this.#context, this.#spanId)];
  }

  ended({ status, code }: CallEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const endMs = this.#now();
    const attributes = targetAttributes(this.#call);
    const outcome: Attributes = status > 0 ? { 'http.response.status_code': status } : {};
    if (code !== undefined) outcome['error.type'] = ownName(code);
    else if (status >= 400) outcome['error.type'] = ownName(String(status));
    this.#take({
      traceId: this.#context.traceId,
      spanId: this.#spanId,
      parentSpanId: spanIdOf(this.#call.traceId),
      name: nameOf(attributes),
      kind: spanKinds.client,
      startMs: this.#startMs,
      endMs: Math.max(this.#startMs, endMs),
      attributes: { ...attributes, ...outcome },
      isError: code !== undefined || status === 0 || status >= 400,
    });
    this.#take(gatewaySpan(this.#call, undefined, endMs, outcome));
  }
}

function gatewaySpan(
  call: CallSoFar,
  refusal: GatewayError | undefined,
  endMs: number,
  outcome: Attributes = {},
): CallSpan {
  const { received } = call;
  const { traceId, parentSpanId } = contextOf(received);
  const opening = received.message?.opening.received;
  const refused: Attributes = refusal
    ? { 'postern.decision': ownName('DENY'), 'postern.reasons': [ownName(refusal.code)] }
    : {};
  return {
    traceId,
    spanId: spanIdOf(received.traceId),
    parentSpanId: opening ? spanIdOf(opening.traceId) : parentSpanId,
    name: ownName(`postern ${opening ? 'message' : isTunnel(received) ? 'tunnel' : received.entrance}`),
    kind: opening ? spanKinds.internal : spanKinds.server,
    startMs: received.receivedAtMs,
    endMs: Math.max(received.receivedAtMs, endMs),
    attributes: { ...targetAttributes(call), ...decisionAttributes(call), ...outcome, ...refused },
    // A denial is no error: it is what the gateway is for.
    isError: refusal !== undefined && problems[refusal.code].status >= 500,
  };
}

/** Names a span as the conventions do: by what is done, and by the thing that it is done to. */
function nameOf(attributes: Attributes): SafeName {
  const names = [
    attributes['mcp.method.name'] ?? attributes['gen_ai.operation.name'] ?? attributes['http.request.method'],
    attributes['gen_ai.tool.name'] ?? attributes['gen_ai.request.model'] ?? attributes['postern.tool'],
  ];
  return joined(
    names.filter((it) => typeof it === 'string'),
    ' ',
  );
}
