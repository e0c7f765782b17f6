import { hash, timingSafeEqual } from 'node:crypto';
import type { PresentedKey } from '../call.ts';
import { GatewayError, toGatewayError } from '../errors.ts';
import type { Gate } from '../pipeline/gate.ts';
import { isAddressAllowed } from '../state/admission.ts';
import type { Identification } from '../state/store.ts';
import { demand } from './permissions.ts';
import { requestAsCall } from './refused-call.ts';
import type { Caller, KeyCaller, Route } from './route.ts';

export interface Presented {
  readonly authorization: string;
  readonly clientAddress: string;
  readonly nowMs: number;
}

const invalidKey = (): GatewayError =>
  new GatewayError('INVALID_KEY', 'Send a valid API key: "Authorization: Bearer iv_live_…".');

/**
 * Who asks, and whether they may. What has not even the form of a key is turned away without asking the state; an address that fails
 * too often is turned away before anything is compared.
 */
export async function authenticate(gate: Gate, route: Route, presented: Presented): Promise<Caller> {
  if (route.access === 'public') return { kind: 'anybody' };
  const { authorization, clientAddress, nowMs } = presented;
  gate.throttle.check(clientAddress, nowMs);
  const text = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
  const key = gate.readKey(text);
  if (!key) {
    if (!route.isForKeys && isAdminSecret(text, gate.config.control.adminSecret)) return { kind: 'admin' };
    // Nothing of what was presented: it may be a secret with a typing mistake.
    gate.log.warn({ client_address: clientAddress, path: route.path }, 'an authentication failed');
    gate.throttle.failed(clientAddress, nowMs);
    throw invalidKey();
  }
  const holder = await identify(gate, route, key, nowMs);
  if (!holder.ok || !(await gate.tenants.learn(holder.identity.tenantId))) {
    gate.throttle.failed(clientAddress, nowMs);
    const refusal = holder.ok ? invalidKey() : new GatewayError('INVALID_KEY', holder.detail);
    if (route.access === 'call') return { kind: 'refused', presented: key, refusal };
    throw refusal;
  }
  const caller: KeyCaller = { kind: 'key', key: holder.key, identity: holder.identity, presented: key };
  if (route.access === 'call') return caller;
  if (!isAddressAllowed(holder.key, clientAddress)) throw await blocked(gate, route, key, presented);
  if (route.access === 'secret') demand(holder.key, ['admin']);
  else if (typeof route.access !== 'string') demand(holder.key, route.access);
  else if (route.access !== 'key') demand(holder.key, [route.access]);
  return caller;
}

const recallMs = 5 * 60_000;

/** Where the pipeline asks again, it also decides what holds while the state is away. */
async function identify(gate: Gate, route: Route, key: PresentedKey, nowMs: number): Promise<Identification> {
  try {
    return await gate.store.identify(key.hash, nowMs);
  } catch (error) {
    const known = route.access === 'call' ? gate.store.recall(key.hash, nowMs, recallMs) : undefined;
    if (known) return known;
    throw error;
  }
}

/** The pipeline refuses, counts and records the attempt, like that of any call from an address that is not allowed. */
async function blocked(gate: Gate, route: Route, key: PresentedKey, asked: Presented): Promise<GatewayError> {
  try {
    await gate.inspect(requestAsCall(gate, route, key, asked));
  } catch (error) {
    return toGatewayError(error);
  }
  return new GatewayError('IP_NOT_ALLOWED', 'The key may not be used from this address.');
}

/** Compared as digests: equal lengths, constant time. Where there is no secret, none is right. */
function isAdminSecret(presented: string, secret: string | null): boolean {
  if (secret === null || presented === '') return false;
  return timingSafeEqual(hash('sha256', presented, 'buffer'), hash('sha256', secret, 'buffer'));
}
