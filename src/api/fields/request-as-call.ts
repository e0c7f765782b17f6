import { bareCall, type PresentedKey, type ReceivedCall } from '../../core/call.ts';
import { parseTarget } from '../../core/target.ts';
import type { Gate } from '../../decision/gate.ts';
import type { Route } from '../route.ts';

export interface RequestDescription {
  readonly clientAddress: string;
  readonly nowMs: number;
}

/** Makes a call of the request itself, for a refusal before the described call was read. */
export const requestAsCall = (
  { controlUrl }: Gate,
  { method, path }: Route,
  key: PresentedKey,
  { clientAddress, nowMs }: RequestDescription,
): ReceivedCall =>
  bareCall({
    entrance: path.startsWith('/v1/a2a/') ? 'a2a' : 'scan',
    receivedAtMs: nowMs,
    clientAddress,
    key,
    method,
    target: parseTarget(controlUrl + path),
  });
