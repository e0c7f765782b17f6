import { Call, type PresentedKey } from '../call.ts';
import type { GatewayError } from '../errors.ts';
import { newTraceId } from '../ids.ts';
import type { Gate } from '../pipeline/gate.ts';
import { parseTarget } from '../target.ts';
import type { KeyCaller, Route } from './route.ts';

/* Requests to the control plane that end as refused calls in the activity of a tenant. */

export interface Asked {
  readonly clientAddress: string;
  readonly nowMs: number;
}

/** The request itself as a call, where the one that it describes was not read. */
export const requestAsCall = (
  { controlUrl }: Gate,
  { method, path }: Route,
  key: PresentedKey,
  { clientAddress, nowMs }: Asked,
): Call =>
  new Call({
    traceId: newTraceId(nowMs),
    entrance: 'scan',
    receivedAtMs: nowMs,
    clientAddress,
    key,
    method,
    target: parseTarget(controlUrl + path),
    headers: [],
    body: Buffer.alloc(0),
    contentType: '',
    contentEncoding: '',
    claimed: {},
    lastHead: undefined,
  });

/** Leaves the trace of a call that is refused before the pipeline has seen it: it has taken nothing from quota and rate. */
export async function recordRefusal(
  gate: Gate,
  { identity }: KeyCaller,
  call: Call,
  refusal: GatewayError,
): Promise<GatewayError> {
  call.identity = identity;
  await gate.record(call, refusal);
  return refusal;
}
