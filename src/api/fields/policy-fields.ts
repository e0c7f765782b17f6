import { z } from 'zod';
import { GatewayError } from '../../core/errors.ts';
import type { Gate } from '../../decision/gate.ts';
import { namesKnownTo } from '../../decision/trace/known-names.ts';
import { applySchema, type PolicyDocument, ruleSchema } from '../../policy/schema.ts';
import { validatePolicy } from '../../policy/validate.ts';
import type { PolicyRecord } from '../../state/store.ts';
import type { FilePolicy } from '../../tenants/policy-book.ts';
import { ofTenant, time, toIso } from './fields.ts';
import { invalid } from './invalid.ts';
import { shown } from './shown.ts';

const rule = ruleSchema.meta({ id: 'Rule' });

/** A policy as apply takes it, for the description of the API. `validatePolicy` reads it, and says more of mistakes. */
export const describedApply = applySchema
  .omit({ tenants: true, env_names: true })
  .extend({ ...ofTenant, rules: z.array(rule).min(1) });

/** Rules of answers, which were checked when they were applied. */
const rules = z.array(z.unknown()).meta({ items: { $ref: '#/components/schemas/Rule' } });

export const publicPolicy = z
  .object({
    policy_id: z.string(),
    name: z.string(),
    env_name: z.string().nullable().describe('null: all environments'),
    version: z.int(),
    mode: z.enum(['enforce', 'monitor']),
    rules,
    source: z.enum(['api', 'file']).describe('file: from a policy file, which the API cannot change'),
  })
  .meta({ id: 'Policy' });

export const describedPolicy = publicPolicy
  .extend({
    description: z.string(),
    created_at: time.nullable().describe('null: of a policy file'),
    created_by: z.string(),
    archived_at: time.nullable().describe('Set where the policy was archived at this version'),
  })
  .meta({ id: 'DescribedPolicy' });

export type DescribedPolicy = z.infer<typeof describedPolicy>;

export const showPolicy = (record: PolicyRecord): z.infer<typeof publicPolicy> =>
  shown(publicPolicy, record, { source: 'api' });

export const describePolicy = (record: PolicyRecord): DescribedPolicy =>
  shown(describedPolicy, record, { source: 'api', created_at: toIso(record.nowMs) });

/** Returns a policy of a file, once for each of its environments. */
export const describeFile = ({ policyId, document }: FilePolicy): DescribedPolicy[] =>
  (document.envNames ?? [null]).map((envName) => ({
    policy_id: policyId,
    name: document.name,
    env_name: envName,
    version: 1,
    mode: document.mode,
    rules: [...document.rules],
    source: 'file',
    description: document.description,
    created_at: null,
    created_by: 'file',
    archived_at: null,
  }));

export interface CheckedPolicy {
  readonly policy: PolicyDocument;
  readonly warnings: readonly string[];
}

/** Returns the policy at `path` of a request. Throws VALIDATION_FAILED with all that is wrong with it. */
export function checkPolicy(gate: Gate, tenantId: string, written: unknown, path = ''): CheckedPolicy {
  const tenant = gate.tenants.find(tenantId);
  const known = namesKnownTo(gate.config, gate.catalogues, tenant ? [tenant] : [], gate.detectorIds);
  const result = validatePolicy(written, known);
  if (result.ok) return result;
  throw invalid(result.errors.map((it) => ({ ...it, path: below(path, it.path) })));
}

const below = (path: string, inner: string): string =>
  path === '' || inner === '' ? path + inner : `${path}.${inner}`;

/** Throws CONFLICT where a policy file has this name. */
export function refuseFiles(gate: Gate, tenantId: string, name: string): void {
  if (!gate.policies.isFromFile(tenantId, name)) return;
  throw new GatewayError(
    'CONFLICT',
    'A policy file of the configuration has this name; change the file instead.',
  );
}
