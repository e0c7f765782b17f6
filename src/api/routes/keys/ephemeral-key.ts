import { z } from 'zod';
import { verbs } from '../../../core/call.ts';
import { GatewayError } from '../../../core/errors.ts';
import { newId } from '../../../core/ids.ts';
import { keyDigest, keyPrefix, newKeyText } from '../../../core/key-text.ts';
import type { KeyRecord } from '../../../state/store.ts';
import { time, toIso } from '../../fields/fields.ts';
import { keyDescription, publicKey, publicScope, showOneKey, toolName } from '../../fields/key-fields.ts';
import { demand } from '../../fields/permissions.ts';
import { routesOf } from '../../route.ts';

const route = routesOf('keys');

const ttlSecondsDefault = 600;
const ttlSecondsMax = 86_400;
const usesMax = 1000;
/** Rate of new keys. Each stays in the list for a week after its end, and in the audit log for ever. */
const ephemeralRate = { perMinute: 120, capacity: 5_000 } as const;

const ephemeralRequest = z
  .object({
    ttl_seconds: z.int().min(1).max(ttlSecondsMax).nullish(),
    max_uses: z.int().min(1).max(usesMax).nullish(),
    scope: z
      .object({
        tools: z.array(toolName).max(256).nullish(),
        verbs: z.array(z.enum(verbs)).max(16).nullish(),
      })
      .nullish(),
    description: keyDescription.nullish(),
  })
  .nullish();

/**
 * `POST /v1/keys/ephemeral` makes a key that ends by itself. It has the tenant, environment, agent and
 * allowlist of the live key that asks for it. It may only call, and it ends with that key.
 */
export const ephemeralKey = route('POST /v1/keys/ephemeral', {
  summary: 'Make an ephemeral key of the key that asks',
  access: 'keys:ephemeral',
  isForKeys: true,
  perKeyRate: ephemeralRate,
  body: ephemeralRequest,
  isBodyOptional: true,
  answer: publicKey.extend({
    key: z.string(),
    ephemeral_id: z.uuid(),
    expires_at: time,
    scope: publicScope.nullable(),
  }),
  status: 201,
  async handle({ gate, caller, body, nowMs, audit }) {
    const { ttl_seconds, max_uses, scope, description } = body ?? {};
    if (caller.kind !== 'key') throw new GatewayError('INVALID_KEY', 'Send a valid API key.');
    const { key: parent } = caller;
    if (parent.type === 'ephemeral')
      throw new GatewayError('FORBIDDEN', 'An ephemeral key cannot make others.');
    // The parent must have every permission of the new key.
    demand(parent, ['scan']);
    const text = newKeyText('ephemeral');
    const endsAtMs = nowMs + (ttl_seconds ?? ttlSecondsDefault) * 1000;
    const key: KeyRecord = {
      // Tenant, environments, agent, name, allowlist and limits are those of the parent.
      ...parent,
      keyId: newId(),
      hash: gate.hashKey(keyDigest(text)),
      prefix: keyPrefix(text),
      type: 'ephemeral',
      description: description ?? null,
      permissions: ['scan'],
      createdAtMs: nowMs,
      expiresAtMs: Math.min(endsAtMs, parent.expiresAtMs ?? endsAtMs),
      revokedAtMs: null,
      revokedBy: null,
      parentKeyId: parent.keyId,
      maxUses: max_uses ?? null,
      scope: scope ? { tools: scope.tools ?? null, verbs: scope.verbs ?? null } : null,
      isFromConfig: false,
    };
    const { prefix, name, agentId } = key;
    const details = { prefix, name, agent_id: agentId, parent_key_id: parent.keyId };
    await gate.store.addKey(key, audit('key.created', key.keyId, details));
    const shown = await showOneKey(gate, key, nowMs);
    return { key: text, ephemeral_id: key.keyId, ...shown, expires_at: toIso(key.expiresAtMs ?? endsAtMs) };
  },
});
