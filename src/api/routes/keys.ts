import { isIP } from 'node:net';
import { z } from 'zod';
import { permissions } from '../../config/agents.ts';
import { GatewayError } from '../../errors.ts';
import { newId, parseUuid } from '../../ids.ts';
import { keyDigest, keyPrefix, newKeyText } from '../../key-text.ts';
import type { Gate } from '../../pipeline/gate.ts';
import type { AgentRecord, KeyRecord } from '../../state/store.ts';
import { type Caller, defaultPermissions, route } from '../route.ts';
import { operatorOf, tenantOf } from '../tenant-of.ts';

const tenantId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ -');
const cidr = z.string().refine(isCidr, 'must be an address or a CIDR range, such as 10.0.0.0/8');

const mintRequest = z.object({
  tenant_id: tenantId.nullish(),
  name: z.string().trim().min(1).max(128),
  default_agent_id: z
    .string()
    .refine((text) => parseUuid(text) !== undefined, 'must be a UUID')
    .transform((text) => text.toLowerCase()),
  description: z.string().max(1024).nullish(),
  ip_allowlist: z.array(cidr).max(256).nullish(),
  env_name: z.string().min(1).max(128).nullish(),
  env_names: z.array(z.string().min(1).max(128)).max(64).nullish(),
  permissions: z.array(z.enum(permissions)).nullish(),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
  // Accepting these without enforcing them would promise a protection that is not there.
  per_minute: z.null({ error: 'is not enforced by this version yet; leave it out' }).optional(),
  require_nonce: z.literal(false, { error: 'is not enforced by this version yet; leave it out' }).nullish(),
});

type MintRequest = z.infer<typeof mintRequest>;

/** `POST /v1/keys`: mints a live key. The answer is the only place where its text ever stands. */
export const mintKey = route({
  method: 'POST',
  path: '/v1/keys',
  access: 'secret',
  body: mintRequest,
  async handle({ gate, caller, body, nowMs }) {
    const tenant = await tenantFor(gate, caller, body, nowMs);
    const envNames = [body.env_name ?? tenant.environments[0] ?? 'default', ...(body.env_names ?? [])];
    const unknown = envNames.find((it) => !tenant.environments.includes(it));
    if (unknown !== undefined) throw unknownEnvironment(unknown);
    const agent = await agentFor(gate, tenant.id, envNames[0] ?? '', body, nowMs);
    const text = newKeyText('live');
    const key: KeyRecord = {
      keyId: newId(),
      hash: gate.hashKey(keyDigest(text)),
      prefix: keyPrefix(text),
      type: 'live',
      tenantId: tenant.id,
      envName: agent.envName,
      envNames: body.env_names ?? [],
      agentId: agent.agentId,
      name: body.name,
      description: body.description ?? null,
      permissions: body.permissions ?? defaultPermissions,
      ipAllowlist: body.ip_allowlist ?? null,
      createdAtMs: nowMs,
      expiresAtMs: body.expires_at ? Date.parse(body.expires_at) : null,
      revokedAtMs: null,
      perMinute: null,
      requireNonce: false,
    };
    await gate.store.addKey(key, {
      tenantId: tenant.id,
      atMs: nowMs,
      kind: 'key.created',
      operator: operatorOf(caller),
      subject: key.keyId,
      details: { prefix: key.prefix, name: key.name, agent_id: key.agentId },
    });
    return { status: 201, body: { key: text, ...publicKey(key, nowMs) } };
  },
});

/** `DELETE /v1/keys/{key_id}`: revokes a key, on every node from the next call on. Doing it again changes nothing. */
export const revokeKey = route({
  method: 'DELETE',
  path: '/v1/keys/:keyId',
  access: 'keys:revoke',
  async handle({ gate, caller, params, query, nowMs }) {
    const keyId = parseUuid(params['keyId'] ?? '');
    if (caller.kind === 'key' && caller.key.keyId === keyId) {
      throw new GatewayError('CONFLICT', 'A key cannot revoke itself; use another one.');
    }
    if (caller.kind === 'key' && caller.key.type === 'ephemeral') {
      throw new GatewayError('FORBIDDEN', 'An ephemeral key cannot revoke keys.');
    }
    const tenant = tenantOf(gate, caller, query.get('tenant_id'));
    const revoked =
      keyId &&
      (await gate.store.revokeKey(tenant, keyId, {
        tenantId: tenant,
        atMs: nowMs,
        kind: 'key.revoked',
        operator: operatorOf(caller),
        subject: keyId,
        details: {},
      }));
    if (!revoked) throw new GatewayError('NOT_FOUND', 'There is no such key.');
    return { status: 200, body: publicKey(revoked, nowMs) };
  },
});

async function tenantFor(gate: Gate, caller: Caller, body: MintRequest, nowMs: number) {
  if (caller.kind === 'key' && body.tenant_id && body.tenant_id !== caller.identity.tenantId) {
    throw new GatewayError('FORBIDDEN', 'A key mints keys for its own tenant only.');
  }
  const named = caller.kind === 'admin' ? body.tenant_id : undefined;
  if (named && !gate.tenants.find(named) && gate.config.autoRegisterTenants) {
    await gate.store.registerTenant(named, nowMs);
    gate.tenants.register(named);
  }
  const tenant = gate.tenants.find(tenantOf(gate, caller, named));
  if (!tenant) throw new GatewayError('NOT_FOUND', 'There is no such tenant.');
  return tenant;
}

/** The named agent, made now where it is new. One of another tenant does not exist; one of another environment is a mistake. */
async function agentFor(
  gate: Gate,
  tenantId: string,
  envName: string,
  body: MintRequest,
  nowMs: number,
): Promise<AgentRecord> {
  const agent = await gate.store.ensureAgent({
    agentId: body.default_agent_id,
    tenantId,
    envName,
    name: body.name,
    runtimeType: null,
    status: 'active',
    createdAtMs: nowMs,
  });
  if (agent.tenantId !== tenantId) throw new GatewayError('NOT_FOUND', 'There is no such agent.');
  if (body.env_name && agent.envName !== body.env_name) {
    const message = `the agent belongs to the environment ${agent.envName}`;
    throw new GatewayError('VALIDATION_FAILED', message, { errors: [{ path: 'env_name', message }] });
  }
  return agent;
}

function unknownEnvironment(name: string): GatewayError {
  const message = `the tenant has no environment "${name}"`;
  return new GatewayError('VALIDATION_FAILED', message, { errors: [{ path: 'env_name', message }] });
}

const toIso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** A key as answers show it: everything but its text. */
export function publicKey(key: KeyRecord, nowMs: number): Record<string, unknown> {
  const isExpired = key.expiresAtMs !== null && nowMs >= key.expiresAtMs;
  return {
    key_id: key.keyId,
    prefix: key.prefix,
    name: key.name,
    description: key.description,
    tenant_id: key.tenantId,
    env_name: key.envName,
    env_names: key.envNames,
    default_agent_id: key.agentId,
    type: key.type,
    status: key.revokedAtMs !== null ? 'revoked' : isExpired ? 'expired' : 'active',
    permissions: key.permissions,
    ip_allowlist: key.ipAllowlist,
    created_at: toIso(key.createdAtMs),
    expires_at: toIso(key.expiresAtMs),
    revoked_at: toIso(key.revokedAtMs),
  };
}

function isCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}
