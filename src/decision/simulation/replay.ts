import { GatewayError } from '../../core/errors.ts';
import type { KeyRecord } from '../../state/store.ts';
import type { FieldsByName } from '../../wire/http1/field.ts';
import type { Gate } from '../gate.ts';

const seconds = /^\d{1,12}$/;
const printable = /^[\x21-\x7e]{8,128}$/;

/**
 * Checks that a request is fresh, where it says so or its key demands it. Throws REPLAYED when its timestamp
 * lies outside the window, or its nonce was seen in it on any node. Throws VALIDATION_FAILED where one of the
 * two is missing or malformed. A request that is refused later on has used its nonce all the same.
 */
export async function checkReplay(
  { names, store, tenants }: Pick<Gate, 'names' | 'store' | 'tenants'>,
  key: KeyRecord,
  headers: FieldsByName,
  nowMs: number,
): Promise<void> {
  const timestamp = headers[`${names.requestPrefix}timestamp`];
  const nonce = headers[`${names.requestPrefix}nonce`];
  if (timestamp === undefined && nonce === undefined && !key.requireNonce) return;
  const missing = (name: string, other: string): GatewayError =>
    invalid(
      `${names.requestPrefix}${name}`,
      key.requireNonce ? 'is demanded by the key' : `is missing; it goes with ${names.requestPrefix}${other}`,
    );
  if (typeof timestamp !== 'string') throw missing('timestamp', 'nonce');
  if (typeof nonce !== 'string') throw missing('nonce', 'timestamp');
  if (!seconds.test(timestamp))
    throw invalid(`${names.requestPrefix}timestamp`, 'must be in seconds since 1970');
  if (!printable.test(nonce))
    throw invalid(`${names.requestPrefix}nonce`, 'must be 8 to 128 printable characters');
  const windowMs = tenants.find(key.tenantId)?.replayWindowMs ?? 0;
  const atMs = Number(timestamp) * 1000;
  if (Math.abs(nowMs - atMs) > windowMs)
    throw new GatewayError('REPLAYED', 'The timestamp lies outside the window; send the request anew.');
  // A timestamp from the future is good for longer than the window, and its nonce must not be forgotten
  // before.
  const endsAtMs = Math.max(nowMs, atMs) + windowMs + 1000;
  if (!(await store.claimNonce(key.tenantId, key.keyId, nonce, nowMs, endsAtMs)))
    throw new GatewayError('REPLAYED', 'The nonce was seen before; send the request anew.');
}

const invalid = (path: string, message: string): GatewayError =>
  new GatewayError('VALIDATION_FAILED', `The header ${path} ${message}.`, { errors: [{ path, message }] });
