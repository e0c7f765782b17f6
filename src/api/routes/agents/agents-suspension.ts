import { z } from 'zod';
import type { TenantSuspension } from '../../../state/store.ts';
import { freeText, ofTenant, time, toIso } from '../../fields/fields.ts';
import { operatorOf, routesOf } from '../../route.ts';

/* The kill switch. It suspends all agents of a tenant at once, those that register later included. */

const route = routesOf('agents');

const publicSuspension = z
  .object({
    tenant_id: z.string(),
    status: z.enum(['active', 'suspended']),
    since: time.nullable(),
    by: z.string().nullable(),
    note: z.string().nullable(),
  })
  .meta({ id: 'TenantSuspension' });

const show = (
  tenantId: string,
  suspension: TenantSuspension | undefined,
): z.infer<typeof publicSuspension> => ({
  tenant_id: tenantId,
  status: suspension ? 'suspended' : 'active',
  since: suspension ? toIso(suspension.sinceMs) : null,
  by: suspension?.by ?? null,
  note: suspension?.note ?? null,
});

const measure = z.object({ ...ofTenant, note: freeText.nullish() }).nullish();

/** `GET /v1/agents/suspension` says whether the tenant is suspended. Each agent has its own status. */
export const showSuspension = route('GET /v1/agents/suspension', {
  summary: 'Show whether all agents are suspended at once',
  access: ['activity:read', 'agents:write'],
  answer: publicSuspension,
  async handle({ gate, tenantId }) {
    const tenant = tenantId();
    return show(tenant, await gate.store.suspensionOf(tenant));
  },
});

/**
 * `POST /v1/agents/suspend` denies all calls of the tenant, on every node from the next one on. A tenant that
 * is suspended already stays so since the first time, which is answered.
 */
export const suspendAgents = route('POST /v1/agents/suspend', {
  summary: 'Suspend all agents of the tenant at once',
  access: 'agents:write',
  body: measure,
  isBodyOptional: true,
  answer: publicSuspension,
  async handle({ gate, caller, body, tenantId: tenantOf, nowMs, audit }) {
    const tenantId = tenantOf();
    const note = body?.note ?? null;
    const suspension = await gate.store.suspendTenant(
      { tenantId, sinceMs: nowMs, by: operatorOf(caller), note },
      audit('tenant.suspended', tenantId, { note }),
    );
    return show(tenantId, suspension);
  },
});

/** `POST /v1/agents/reactivate` ends the suspension, with the admin secret. Single suspensions stay. */
export const reactivateAgents = route('POST /v1/agents/reactivate', {
  summary: 'End the suspension of all agents',
  access: 'agents:write',
  // Each key belongs to an agent, and all agents of the tenant are suspended.
  isForSecret: true,
  body: measure,
  isBodyOptional: true,
  answer: publicSuspension,
  async handle({ gate, body, tenantId: tenantOf, audit }) {
    const tenantId = tenantOf();
    const event = audit('tenant.reactivated', tenantId, { note: body?.note ?? null });
    await gate.store.reactivateTenant(tenantId, event);
    return show(tenantId, undefined);
  },
});
