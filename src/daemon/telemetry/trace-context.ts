import type { ReceivedCall } from '../../core/call.ts';
import { fieldOf } from '../../wire/http1/headers.ts';

/*
 * The trace that a call belongs to (W3C Trace Context, level 2). The trace of a call that brings none has the
 * id of its record, without the dashes, so that each can be found by the other.
 */

export interface TraceContext {
  /** The id of the trace, in 32 hex digits. */
  readonly traceId: string;
  /** The id, in 16 hex digits, of the span that the caller was in; absent where it named none. */
  readonly parentSpanId?: string;
  /**
   * The flags that the caller sent; our own say "sampled". They are only passed on: a caller does not choose
   * whether it is watched.
   */
  readonly flags: string;
}

/**
 * Matches a value of `traceparent`. Later versions may have more behind the fields that we know (section
 * 3.2).
 */
const written = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

export function contextOf(received: ReceivedCall): TraceContext {
  const { headers, traceId } = received.message?.opening.received ?? received;
  const [, version, givenId, parentSpanId, flags = '01', more] =
    written.exec(fieldOf(headers, 'traceparent')) ?? [];
  if (givenId === undefined || parentSpanId === undefined || (version === '00' && more !== undefined))
    return { traceId: digitsOf(traceId), flags: '01' };
  return { traceId: givenId, parentSpanId, flags };
}

export const toTraceparent = ({ traceId, flags }: TraceContext, spanId: string): string =>
  `00-${traceId}-${spanId}-${flags}`;

/**
 * Returns the id of a call's span at the gateway. It is the same whenever it is asked for, and never zero.
 */
export const spanIdOf = (traceId: string): string => digitsOf(traceId).slice(16);

const digitsOf = (uuid: string): string => uuid.replaceAll('-', '');

/** Tells whether the caller's own signature covers `traceparent`: another value would break it. */
export const isSigned = (headers: readonly string[]): boolean =>
  /(?:SignedHeaders=|headers=")([^,"]*)/i
    .exec(fieldOf(headers, 'authorization'))?.[1]
    ?.toLowerCase()
    .includes('traceparent') === true;
