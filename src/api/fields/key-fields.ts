import { z } from 'zod';
import { parseCidr } from '../../config/scalars.ts';
import { verbs } from '../../core/call.ts';
import { permissions } from '../../core/permissions.ts';
import { keylessKeyPrefix, routeKeyPrefix } from '../../credentials/keyless.ts';
import type { Gate } from '../../decision/gate.ts';
import type { KeyRecord, KeyUsage } from '../../state/store.ts';
import { envName, freeText, text, time, title, toIsoOrNull } from './fields.ts';
import { shown } from './shown.ts';

/* A key as requests name it and as answers show it. */

const cidr = z
  .string()
  .max(64)
  .refine((text) => parseCidr(text) !== undefined, 'must be an address or a CIDR range, such as 10.0.0.0/8');
export const keyName = title;
export const keyDescription = freeText;
export const ipAllowlist = z.array(cidr).max(256);
export const toolName = text.min(1).max(128);

export const publicScope = z.object({
  tools: z.array(z.string()).nullable(),
  verbs: z.array(z.enum(verbs)).nullable(),
});

export const publicKey = z
  .object({
    key_id: z.uuid(),
    prefix: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    tenant_id: z.string(),
    env_name: z.string(),
    env_names: z.array(envName),
    default_agent_id: z.uuid(),
    type: z.enum(['live', 'ephemeral']),
    status: z.enum(['active', 'revoked', 'expired']),
    expired_reason: z.enum(['ttl', 'max_uses']).optional(),
    permissions: z.array(z.enum(permissions)),
    ip_allowlist: z.array(z.string()).nullable(),
    created_at: time,
    expires_at: time.nullable(),
    revoked_at: time.nullable(),
    revoked_by: z.string().nullable(),
    per_minute: z.int().nullable(),
    require_nonce: z.boolean(),
    parent_key_id: z.uuid().nullable(),
    max_uses: z.int().nullable(),
    scope: publicScope.nullable(),
    last_seen: time.nullable(),
    calls_24h: z.int(),
    blocked_attempts: z.int(),
  })
  .meta({ id: 'Key' });

type PublicKey = z.infer<typeof publicKey>;

/**
 * Tells whether a key stands for callers without a key. No key text has its digest, and the gateway makes and
 * removes it by itself.
 */
export const isInternal = ({ prefix }: KeyRecord): boolean =>
  prefix === routeKeyPrefix || prefix === keylessKeyPrefix;

const unused: KeyUsage = { lastSeenAtMs: null, calls24h: 0, blockedAttempts: 0, uses: 0 };

/** Shows all of a key but its text. An ephemeral key ends with its `parent`, whether revoked or expired. */
function showKey(
  key: KeyRecord,
  parent: KeyRecord | undefined,
  usage: KeyUsage | undefined,
  nowMs: number,
): PublicKey {
  const { lastSeenAtMs, calls24h, blockedAttempts, uses } = usage ?? unused;
  const isUsedUp = key.maxUses !== null && uses >= key.maxUses;
  const isPast = isOver(key, nowMs) || (parent !== undefined && isOver(parent, nowMs));
  const isRevoked = key.revokedAtMs !== null || (parent?.revokedAtMs ?? null) !== null;
  const isExpired = !isRevoked && (isUsedUp || isPast);
  return shown(publicKey, key, {
    default_agent_id: key.agentId,
    status: isRevoked ? 'revoked' : isExpired ? 'expired' : 'active',
    ...(isExpired ? { expired_reason: isUsedUp ? 'max_uses' : 'ttl' } : {}),
    permissions: permissions.filter((it) => key.permissions.includes(it)),
    revoked_at: toIsoOrNull(key.revokedAtMs ?? parent?.revokedAtMs ?? null),
    revoked_by: key.revokedBy ?? parent?.revokedBy ?? null,
    last_seen: toIsoOrNull(lastSeenAtMs),
    calls_24h: calls24h,
    blocked_attempts: blockedAttempts,
    scope: key.scope && showScope(key.scope),
  });
}

const showScope = ({ tools, verbs }: NonNullable<KeyRecord['scope']>): z.infer<typeof publicScope> => ({
  tools: tools && [...tools],
  verbs: verbs && [...verbs],
});

const isOver = ({ expiresAtMs }: KeyRecord, nowMs: number): boolean =>
  expiresAtMs !== null && nowMs >= expiresAtMs;

/** Shows keys with their counters. An ephemeral key may have ended with the key that made it. */
export async function showKeys(
  { store }: Gate,
  tenantId: string,
  keys: readonly KeyRecord[],
  nowMs: number,
): Promise<PublicKey[]> {
  const ids = keys.map((it) => it.keyId);
  const usage = ids.length === 0 ? [] : await store.keyUsage(tenantId, ids, nowMs);
  const parents = new Map<string, KeyRecord | undefined>(keys.map((it) => [it.keyId, it]));
  for (const { parentKeyId } of keys) {
    if (parentKeyId !== null && !parents.has(parentKeyId))
      parents.set(parentKeyId, await store.keyById(tenantId, parentKeyId));
  }
  return keys.map((key, i) => showKey(key, parents.get(key.parentKeyId ?? ''), usage[i], nowMs));
}

export async function showOneKey(gate: Gate, key: KeyRecord, nowMs: number): Promise<PublicKey> {
  const [shown] = await showKeys(gate, key.tenantId, [key], nowMs);
  if (!shown) throw new Error('a key is shown as one key');
  return shown;
}
