import { z } from 'zod';
import { routesOf } from '../route.ts';

const route = routesOf('tenants');

/** `GET /v1/tenants` lists all tenants to the admin secret, and to a key its own. */
export const listTenants = route('GET /v1/tenants', {
  summary: 'List the tenants that are served',
  access: 'secret',
  answer: z
    .object({
      items: z.array(
        z.object({
          tenant_id: z.string(),
          name: z.string(),
          plan: z.string(),
          environments: z.array(z.string()),
          mode: z.string().describe('enforce or monitor'),
          is_configured: z.boolean().describe('false: registered by minting a key for it'),
          suspended: z.boolean().describe('Whether all of its agents are suspended'),
        }),
      ),
    })
    .meta({ id: 'TenantList' }),
  async handle({ gate, caller }) {
    const ids = caller.kind === 'key' ? [caller.identity.tenantId] : gate.tenants.ids();
    const tenants = ids.flatMap((id) => gate.tenants.find(id) ?? []);
    const items = tenants.map(async ({ id, name, plan, environments, mode }) => ({
      tenant_id: id,
      name: name ?? id,
      plan: plan.name,
      environments: [...environments],
      mode,
      is_configured: gate.config.tenants.has(id),
      suspended: (await gate.store.suspensionOf(id)) !== undefined,
    }));
    return { items: await Promise.all(items) };
  },
});
