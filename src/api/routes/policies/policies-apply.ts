import { z } from 'zod';
import { newId } from '../../../core/ids.ts';
import type { Gate } from '../../../decision/gate.ts';
import { ofTenant } from '../../fields/fields.ts';
import { invalid } from '../../fields/invalid.ts';
import {
  type CheckedPolicy,
  checkPolicy,
  describedApply,
  publicPolicy,
  refuseFiles,
  showPolicy,
} from '../../fields/policy-fields.ts';
import { operatorOf, routesOf } from '../../route.ts';

const route = routesOf('policies');

/** The part of the body that is read before the policy language looks at it. */
const applyRequest = z.looseObject(ofTenant);

/** `POST /v1/policies/apply` adds a policy's next version, which judges the next call on every node. */
export const applyPolicy = route('POST /v1/policies/apply', {
  summary: 'Add the next version of a policy',
  access: 'policies:write',
  body: applyRequest,
  described: describedApply,
  takesYaml: true,
  answer: publicPolicy.extend({
    unchanged: z.boolean().describe('Nothing differs from the version before'),
    warnings: z.array(z.string()),
  }),
  async handle({ gate, caller, body, tenantId: ofCaller, nowMs, audit }) {
    const tenantId = ofCaller();
    const { policy, warnings } = checkApply(gate, tenantId, body);
    refuseFiles(gate, tenantId, policy.name);
    const envName = policy.envNames?.[0] ?? null;
    const record = await gate.store.applyPolicy(
      {
        tenantId,
        policyId: newId(),
        name: policy.name,
        envName,
        description: policy.description,
        rules: policy.rules,
        mode: policy.mode,
        nowMs,
        createdBy: operatorOf(caller),
      },
      audit('policy.applied', policy.name, { env_name: envName, rules: policy.rules.length }),
    );
    return { ...showPolicy(record), unchanged: record.unchanged, warnings: [...warnings] };
  },
});

/** `POST /v1/policies/validate` answers what apply would say of a policy, and applies nothing. */
export const tryPolicy = route('POST /v1/policies/validate', {
  summary: 'Validate a policy without applying it',
  access: ['policies:read', 'policies:write'],
  body: applyRequest,
  described: describedApply,
  takesYaml: true,
  answer: z.object({ valid: z.literal(true), warnings: z.array(z.string()) }),
  handle({ gate, body, tenantId: ofCaller }) {
    const tenantId = ofCaller();
    const { policy, warnings } = checkApply(gate, tenantId, body);
    const isTaken = gate.policies.isFromFile(tenantId, policy.name);
    const taken = isTaken ? ['a policy file has this name; apply will refuse it'] : [];
    return { valid: true as const, warnings: [...warnings, ...taken] };
  },
});

function checkApply(gate: Gate, tenantId: string, body: unknown): CheckedPolicy {
  const checked = checkPolicy(gate, tenantId, body);
  const { envNames = [], tenants = [tenantId] } = checked.policy;
  if (tenants.some((id) => id !== tenantId))
    throw invalid([
      { path: 'tenants', message: `apply is for the tenant ${tenantId} alone; leave tenants out` },
    ]);
  if (envNames.length > 1)
    throw invalid([
      { path: 'env_names', message: 'apply takes one environment, as env_name, or none for all' },
    ]);
  return checked;
}
