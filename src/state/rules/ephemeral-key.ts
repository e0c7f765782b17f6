import { GatewayError } from '../../core/errors.ts';
import type { AgentRecord, AuditEvent, KeyRecord } from '../store.ts';

/** How long an ephemeral key is still listed after its end, in milliseconds. */
export const endedKeptMs = 7 * 86_400_000;

/** The ended keys that are removed when another one is made. It is more than one, so that none gather. */
export const endedPerKey = 16;

/** The limit of ephemeral keys of one parent that have neither ended nor been revoked. */
export const childrenMax = 10_000;

export const tooManyChildren = (): GatewayError =>
  new GatewayError('GATEWAY_BUSY', `The key has ${childrenMax} ephemeral keys that have not ended.`, {
    retryAfterSeconds: 60,
  });

export const keyTaken = (): GatewayError => new GatewayError('CONFLICT', 'There is such a key already.');

/** The records that a new key depends on, as its tenant has them; undefined where there is none. */
interface KeyGround {
  readonly agent: AgentRecord | undefined;
  /** The stored key with the same id. */
  readonly standing: KeyRecord | undefined;
  readonly parent: KeyRecord | undefined;
}

/**
 * Throws CONFLICT or NOT_FOUND where a key must not be added. Whether its parent has room is checked after
 * that.
 */
export function checkNewKey(key: KeyRecord, { agent, standing, parent }: KeyGround): void {
  if (agent?.tenantId !== key.tenantId)
    throw new GatewayError('NOT_FOUND', 'The agent of the key is not known in this tenant.');
  if (standing) throw keyTaken();
  if (key.parentKeyId === null) return;
  const hasExpired = parent?.expiresAtMs != null && key.createdAtMs >= parent.expiresAtMs;
  if (!parent || parent.revokedAtMs !== null || hasExpired)
    throw new GatewayError('NOT_FOUND', 'The key that this one is made with is not active in this tenant.');
}

/** Returns the key as revoked. One that was revoked before stays as it is. */
export const revokedKey = (key: KeyRecord, { atMs, operator }: AuditEvent): KeyRecord =>
  key.revokedAtMs === null ? { ...key, revokedAtMs: atMs, revokedBy: operator } : key;
