import { z } from 'zod';
import type { TenantConfig } from '../../../config/schema.ts';
import { defaultPermissions } from '../../../config/sections/agents.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { newId } from '../../../core/ids.ts';
import { keyDigest, keyPrefix, newKeyText } from '../../../core/key-text.ts';
import { permissions } from '../../../core/permissions.ts';
import type { Gate } from '../../../decision/gate.ts';
import { liveKey } from '../../../state/rules/live-key.ts';
import type { AgentRecord } from '../../../state/store.ts';
import { envName, instant, missing, ofTenant, tenantId, uuid } from '../../fields/fields.ts';
import { invalid } from '../../fields/invalid.ts';
import { ipAllowlist, keyDescription, keyName, publicKey, showOneKey } from '../../fields/key-fields.ts';
import { type Caller, routesOf } from '../../route.ts';
import { tenantOf } from '../../tenant-of.ts';

const route = routesOf('keys');

const mintRequest = z.object({
  ...ofTenant,
  name: keyName,
  default_agent_id: uuid,
  description: keyDescription.nullish(),
  ip_allowlist: ipAllowlist.nullish(),
  env_name: envName.nullish(),
  env_names: z.array(envName).max(64).nullish(),
  permissions: z.array(z.enum(permissions)).max(permissions.length).nullish(),
  expires_at: instant.nullish(),
  per_minute: z.int().min(1).max(100_000_000).nullish(),
  require_nonce: z.boolean().nullish(),
});

type MintRequest = z.output<typeof mintRequest>;

/** `POST /v1/keys` mints a live key. The answer is the only place where its text ever stands. */
export const mintKey = route('POST /v1/keys', {
  summary: 'Mint a live key',
  access: 'secret',
  body: mintRequest,
  answer: publicKey.extend({ key: z.string() }),
  status: 201,
  async handle({ gate, caller, body, namedTenant, nowMs, audit }) {
    if (body.expires_at && body.expires_at <= nowMs)
      throw invalid([{ path: 'expires_at', message: 'must lie in the future' }]);
    const tenant = await tenantFor(gate, caller, namedTenant, nowMs);
    checkEnvironments(tenant, body);
    const agent = await agentFor(gate, tenant, body, nowMs);
    const text = newKeyText('live');
    const key = liveKey({
      keyId: newId(),
      hash: gate.hashKey(keyDigest(text)),
      prefix: keyPrefix(text),
      tenantId: tenant.id,
      envName: agent.envName,
      envNames: body.env_names ?? [],
      agentId: agent.agentId,
      name: body.name,
      description: body.description ?? null,
      permissions: body.permissions ?? defaultPermissions,
      ipAllowlist: body.ip_allowlist ?? null,
      createdAtMs: nowMs,
      expiresAtMs: body.expires_at ?? null,
      perMinute: body.per_minute ?? null,
      requireNonce: body.require_nonce ?? false,
    });
    const { prefix, name } = key;
    const event = audit('key.created', key.keyId, { prefix, name, agent_id: key.agentId });
    await gate.store.addKey(key, event);
    return { key: text, ...(await showOneKey(gate, key, nowMs)) };
  },
});

async function tenantFor(
  gate: Gate,
  caller: Caller,
  named: string | undefined,
  nowMs: number,
): Promise<TenantConfig> {
  if (caller.kind === 'admin' && named && !gate.tenants.find(named) && gate.config.autoRegisterTenants) {
    const { error } = tenantId.safeParse(named);
    if (error) throw invalid([{ path: 'tenant_id', message: error.issues[0]?.message ?? 'is no name' }]);
    await gate.store.registerTenant(named, nowMs);
    gate.tenants.register(named);
  }
  const tenant = gate.tenants.find(tenantOf(gate, caller, named));
  if (!tenant) throw missing('tenant');
  return tenant;
}

function checkEnvironments({ environments }: TenantConfig, body: MintRequest): void {
  const isKnown = (name: string): boolean => environments.includes(name);
  if (body.env_name && !isKnown(body.env_name)) throw unknownEnvironment('env_name', body.env_name);
  for (const [i, name] of (body.env_names ?? []).entries())
    if (!isKnown(name)) throw unknownEnvironment(`env_names.${i}`, name);
}

const unknownEnvironment = (path: string, name: string): GatewayError =>
  invalid([{ path, message: `the tenant has no environment "${name}"` }]);

/** Returns the named agent, which is made if it is new. Throws NOT_FOUND for an agent of another tenant. */
async function agentFor(
  gate: Gate,
  { id: tenantId, environments }: TenantConfig,
  body: MintRequest,
  nowMs: number,
): Promise<AgentRecord> {
  const agent = await gate.store.ensureAgent({
    agentId: body.default_agent_id,
    tenantId,
    envName: body.env_name ?? environments[0],
    name: body.name,
    runtimeType: null,
    status: 'active',
    createdAtMs: nowMs,
  });
  if (agent.tenantId !== tenantId) throw missing('agent');
  if (body.env_name && agent.envName !== body.env_name)
    throw invalid([{ path: 'env_name', message: `the agent belongs to the environment ${agent.envName}` }]);
  return agent;
}
