import { z } from 'zod';
import { forecast, periodOf } from '../../state/rules/limits.ts';
import { missing, time, toIso } from '../fields/fields.ts';
import { shown } from '../fields/shown.ts';
import { routesOf } from '../route.ts';

const route = routesOf('usage');

const answer = z
  .object({
    tenant_id: z.string(),
    plan: z.string(),
    period_start: time,
    period_end: time,
    scans_used: z.int(),
    scans_limit: z.int().nullable().describe('null: unlimited'),
    rate_limit_hits_24h: z.int(),
    current_rate_per_min: z.int(),
    forecast_period_total: z.int(),
  })
  .meta({ id: 'Usage' });

/** `GET /v1/usage` shows what the tenant has used of its plan in this calendar month (UTC). */
export const usage = route('GET /v1/usage', {
  summary: 'Usage of the tenant in the current period',
  access: 'usage:read',
  answer,
  async handle({ gate, tenantId, nowMs }) {
    const tenant = gate.tenants.find(tenantId());
    if (!tenant) throw missing('tenant');
    const used = await gate.store.usageOf(tenant.id, nowMs);
    const period = periodOf(nowMs);
    return shown(answer, used, {
      tenant_id: tenant.id,
      plan: tenant.plan.name,
      period_start: toIso(period.startMs),
      period_end: toIso(period.endMs),
      scans_limit: tenant.plan.scansPerMonth,
      forecast_period_total: forecast(used.scansUsed, period, nowMs),
    });
  },
});
