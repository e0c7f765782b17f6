import type { Call, PresentedKey } from '../call.ts';
import { bareCall } from '../pipeline/bare-call.ts';
import type { Gate } from '../pipeline/gate.ts';
import { parseTarget } from '../target.ts';
import type { Route } from './route.ts';

export interface Asked {
  readonly clientAddress: string;
  readonly nowMs: number;
}

/** A request to the control plane as a call itself: refused as one where the call that it describes was not read, or there is none. */
export const requestAsCall = (
  { controlUrl }: Gate,
  { method, path }: Route,
  key: PresentedKey,
  { clientAddress, nowMs }: Asked,
): Call =>
  bareCall({
    entrance: path.startsWith('/v1/a2a/') ? 'a2a' : 'scan',
    receivedAtMs: nowMs,
    clientAddress,
    key,
    method,
    target: parseTarget(controlUrl + path),
  });
