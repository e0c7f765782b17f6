import { z } from 'zod';
import { GatewayError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import type { Gate } from '../../pipeline/gate.ts';
import type { PolicyDocument } from '../../policy/schema.ts';
import { validatePolicy } from '../../policy/validate.ts';
import type { PolicyRecord } from '../../state/store.ts';
import { auditEvent, operatorOf } from '../audit-event.ts';
import {
  envName,
  missing,
  ofTenant,
  pageByPlace,
  pageOf,
  pageQuery,
  time,
  toIso,
  toListAnswer,
} from '../fields.ts';
import { invalid } from '../invalid.ts';
import { route } from '../route.ts';

const tag = 'policies';

const publicPolicy = z
  .object({
    policy_id: z.string(),
    name: z.string(),
    env_name: z.string().nullable().describe('null: all environments'),
    version: z.int(),
    mode: z.enum(['enforce', 'monitor']),
    rules: z.array(z.unknown()),
  })
  .meta({ id: 'Policy' });

const showPolicy = (record: PolicyRecord): z.infer<typeof publicPolicy> => ({
  policy_id: record.policyId,
  name: record.name,
  env_name: record.envName,
  version: record.version,
  mode: record.mode,
  rules: [...record.rules],
});

/** What is read of the body before the policy language looks at it. */
const applyRequest = z.looseObject(ofTenant);

/** `POST /v1/policies/apply`: adds the next version of a policy; the next call on every node is judged by it. */
export const applyPolicy = route({
  method: 'POST',
  path: '/v1/policies/apply',
  tag,
  summary: 'Add the next version of a policy',
  access: 'policies:write',
  body: applyRequest,
  takesYaml: true,
  answer: publicPolicy.extend({
    unchanged: z.boolean().describe('Nothing differs from the version before'),
    warnings: z.array(z.string()),
  }),
  async handle({ gate, caller, body, tenantId: ofCaller, nowMs }) {
    const tenantId = ofCaller();
    const { policy, warnings } = checkPolicy(gate, tenantId, body);
    if (gate.policies.isFromFile(tenantId, policy.name)) {
      throw new GatewayError(
        'CONFLICT',
        'A policy file of the configuration has this name; change the file instead.',
      );
    }
    const record = await gate.store.applyPolicy(
      {
        tenantId,
        policyId: newId(),
        name: policy.name,
        envName: policy.envNames?.[0] ?? null,
        description: policy.description,
        rules: policy.rules,
        mode: policy.mode,
        nowMs,
        createdBy: operatorOf(caller),
      },
      auditEvent(
        { caller, nowMs },
        {
          tenantId,
          kind: 'policy.applied',
          subject: policy.name,
          details: { env_name: policy.envNames?.[0] ?? null, rules: policy.rules.length },
        },
      ),
    );
    return { ...showPolicy(record), unchanged: record.unchanged, warnings: [...warnings] };
  },
});

/** The policy that a request holds, or all that is wrong with it. */
function checkPolicy(
  gate: Gate,
  tenantId: string,
  body: unknown,
): { policy: PolicyDocument; warnings: readonly string[] } {
  const tenant = gate.tenants.find(tenantId);
  const result = validatePolicy(body, {
    environments: tenant?.environments ?? [],
    budgets: tenant?.budgets.map((it) => it.name) ?? [],
    channelKinds: [],
  });
  if (!result.ok) throw invalid(result.errors);
  if (result.policy.envNames && result.policy.envNames.length > 1) {
    throw invalid([
      { path: 'env_names', message: 'apply takes one environment, as env_name, or none for all' },
    ]);
  }
  return { policy: result.policy, warnings: result.warnings };
}

/** `POST /v1/policies/validate`: what apply would say of a policy; nothing is applied. */
export const tryPolicy = route({
  method: 'POST',
  path: '/v1/policies/validate',
  tag,
  summary: 'Validate a policy without applying it',
  access: ['policies:read', 'policies:write'],
  body: applyRequest,
  takesYaml: true,
  answer: z.object({ valid: z.literal(true), warnings: z.array(z.string()) }),
  handle({ gate, body, tenantId }) {
    const { warnings } = checkPolicy(gate, tenantId(), body);
    return { valid: true as const, warnings: [...warnings] };
  },
});

/** By name, then environment; the one for all environments first. */
const placeOf = ({ name, envName: env }: PolicyRecord): string => `${name}\n${env ?? ''}`;

/** `GET /v1/policies`: the latest version of each. */
export const listPolicies = route({
  method: 'GET',
  path: '/v1/policies',
  tag,
  summary: 'List the latest version of each policy',
  access: 'policies:read',
  query: z.object(pageQuery),
  answer: pageOf(publicPolicy),
  isListing: true,
  async handle({ gate, query, tenantId }) {
    return toListAnswer(pageByPlace(await gate.store.policiesOf(tenantId()), placeOf, query), showPolicy);
  },
});

/** `GET /v1/policies/by-name/{name}`: the latest version for the environment, else the one for all environments. */
export const policyByName = route({
  method: 'GET',
  path: '/v1/policies/by-name/:name',
  tag,
  summary: 'The latest version of a policy',
  access: 'policies:read',
  query: z.object({ env: envName.optional() }),
  answer: publicPolicy.extend({ description: z.string(), created_at: time, created_by: z.string() }),
  async handle({ gate, params, query, tenantId }) {
    const record = await gate.store.policyByName(tenantId(), params['name'] ?? '', query.env ?? null);
    if (!record) throw missing('policy');
    return {
      ...showPolicy(record),
      description: record.description,
      created_at: toIso(record.nowMs),
      created_by: record.createdBy,
    };
  },
});
