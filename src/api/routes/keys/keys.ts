import { z } from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import type { Gate } from '../../../decision/gate.ts';
import type { KeyChange, KeyRecord } from '../../../state/store.ts';
import { publicAuditEntry, showAuditEntry } from '../../audit-entry.ts';
import {
  idOf,
  listing,
  missing,
  ofTenant,
  present,
  toIsoOrNull,
  toListAnswer,
  toPage,
} from '../../fields/fields.ts';
import {
  ipAllowlist,
  isInternal,
  keyDescription,
  keyName,
  publicKey,
  showKeys,
  showOneKey,
} from '../../fields/key-fields.ts';
import { routesOf } from '../../route.ts';

const route = routesOf('keys');
const what = 'key';

async function find(gate: Gate, tenantId: string, keyId: string): Promise<KeyRecord> {
  const key = await gate.store.keyById(tenantId, keyId);
  if (!key || isInternal(key)) throw missing(what);
  return key;
}

/** `GET /v1/keys` lists keys, newest first, each with its counters. */
export const listKeys = route('GET /v1/keys', {
  summary: 'List keys',
  access: 'keys:read',
  ...listing(publicKey),
  async handle({ gate, query, tenantId, nowMs }) {
    const tenant = tenantId();
    const page = await gate.store.listKeys(tenant, toPage(query));
    const keys = page.items.filter((it) => !isInternal(it));
    const shown = await showKeys(gate, tenant, keys, nowMs);
    return { items: shown, next_cursor: page.nextCursor };
  },
});

export const showKey = route('GET /v1/keys/:key_id', {
  summary: 'Show a key',
  access: 'keys:read',
  answer: publicKey,
  async handle({ gate, params, tenantId, nowMs }) {
    return showOneKey(gate, await find(gate, tenantId(), idOf(params, 'key_id', what)), nowMs);
  },
});

/** `PATCH /v1/keys/{key_id}` changes what the body names, and nothing else. */
export const changeKey = route('PATCH /v1/keys/:key_id', {
  summary: 'Change the name, description or allowlist of a key',
  access: 'secret',
  body: z.object({
    ...ofTenant,
    name: keyName.optional(),
    description: keyDescription.nullable().optional(),
    ip_allowlist: ipAllowlist.nullable().optional(),
  }),
  answer: publicKey,
  async handle({ gate, params, body, tenantId, nowMs, audit }) {
    const tenant = tenantId();
    const keyId = idOf(params, 'key_id', what);
    const standing = await find(gate, tenant, keyId);
    if (standing.isFromConfig)
      throw new GatewayError('CONFLICT', 'The key is in the configuration; change it there.');
    const change: KeyChange = present({
      name: body.name,
      description: body.description,
      ipAllowlist: body.ip_allowlist,
    });
    const details = present({ name: body.name, ip_allowlist: body.ip_allowlist });
    const key = await gate.store.updateKey(tenant, keyId, change, audit('key.updated', keyId, details));
    if (!key) throw missing(what);
    return showOneKey(gate, key, nowMs);
  },
});

/** `GET /v1/keys/{key_id}/audit` lists what was done to a key, newest first, also after it was revoked. */
export const keyAudit = route('GET /v1/keys/:key_id/audit', {
  summary: 'The audit history of a key',
  access: 'keys:read',
  ...listing(publicAuditEntry),
  async handle({ gate, params, query, tenantId }) {
    const tenant = tenantId();
    const keyId = idOf(params, 'key_id', what);
    await find(gate, tenant, keyId);
    return toListAnswer(
      await gate.store.listAudit(tenant, { subject: keyId }, toPage(query)),
      showAuditEntry,
    );
  },
});

/** `DELETE /v1/keys/{key_id}` revokes a key for the next call on every node. Repetition changes nothing. */
export const revokeKey = route('DELETE /v1/keys/:key_id', {
  summary: 'Revoke a key',
  access: 'keys:revoke',
  answer: publicKey,
  async handle({ gate, caller, params, tenantId, nowMs, audit }) {
    const keyId = idOf(params, 'key_id', what);
    if (caller.kind === 'key' && caller.key.keyId === keyId)
      throw new GatewayError('CONFLICT', 'A key cannot revoke itself; use another one.');
    if (caller.kind === 'key' && caller.key.type === 'ephemeral')
      throw new GatewayError('FORBIDDEN', 'An ephemeral key cannot revoke keys.');
    const tenant = tenantId();
    const standing = await find(gate, tenant, keyId);
    // Revoking is for good: a revoked key stays so when the configuration has it again. So only the admin
    // secret revokes one of the configuration.
    if (standing.isFromConfig && caller.kind !== 'admin')
      throw new GatewayError('CONFLICT', 'The key is in the configuration; take it out there.');
    const [usage] = await gate.store.keyUsage(tenant, [keyId], nowMs);
    const details = { prefix: standing.prefix, last_seen: toIsoOrNull(usage?.lastSeenAtMs ?? null) };
    const revoked = await gate.store.revokeKey(tenant, keyId, audit('key.revoked', keyId, details));
    if (!revoked) throw missing(what);
    return showOneKey(gate, revoked, nowMs);
  },
});
