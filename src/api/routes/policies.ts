import { z } from 'zod';
import { GatewayError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { validatePolicy } from '../../policy/validate.ts';
import type { PolicyRecord } from '../../state/store.ts';
import { invalid } from '../invalid.ts';
import { route } from '../route.ts';
import { operatorOf, tenantOf } from '../tenant-of.ts';

/** What is read of the body before the policy language looks at it. */
const applyRequest = z.looseObject({ tenant_id: z.string().nullish() });

/** `POST /v1/policies/apply`: adds the next version of a policy; the next call on every node is judged by it. */
export const applyPolicy = route({
  method: 'POST',
  path: '/v1/policies/apply',
  access: 'policies:write',
  body: applyRequest,
  takesYaml: true,
  async handle({ gate, caller, body, nowMs }) {
    const tenantId = tenantOf(gate, caller, body.tenant_id);
    const tenant = gate.tenants.find(tenantId);
    const result = validatePolicy(body, {
      environments: tenant?.environments ?? [],
      budgets: tenant?.budgets.map((it) => it.name) ?? [],
      channelKinds: [],
    });
    if (!result.ok) throw invalid(result.errors);
    const { policy, warnings } = result;
    if (policy.envNames && policy.envNames.length > 1) {
      throw invalid([
        { path: 'env_names', message: 'apply takes one environment, as env_name, or none for all' },
      ]);
    }
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
      {
        tenantId,
        atMs: nowMs,
        kind: 'policy.applied',
        operator: operatorOf(caller),
        subject: policy.name,
        details: { env_name: policy.envNames?.[0] ?? null, rules: policy.rules.length },
      },
    );
    gate.policies.forget(tenantId);
    return { status: 200, body: { ...publicPolicy(record), unchanged: record.unchanged, warnings } };
  },
});

/** `GET /v1/policies/by-name/{name}`: the latest version for the environment, else the one for all environments. */
export const policyByName = route({
  method: 'GET',
  path: '/v1/policies/by-name/:name',
  access: 'policies:read',
  async handle({ gate, caller, params, query }) {
    const tenantId = tenantOf(gate, caller, query.get('tenant_id'));
    const name = params['name'] ?? '';
    const envName = query.get('env');
    const record =
      (envName === null ? undefined : await gate.store.policyByName(tenantId, name, envName)) ??
      (await gate.store.policyByName(tenantId, name, null));
    if (!record) throw new GatewayError('NOT_FOUND', 'There is no such policy.');
    return {
      status: 200,
      body: {
        ...publicPolicy(record),
        description: record.description,
        created_at: new Date(record.nowMs).toISOString(),
        created_by: record.createdBy,
      },
    };
  },
});

const publicPolicy = (record: PolicyRecord): Record<string, unknown> => ({
  policy_id: record.policyId,
  name: record.name,
  env_name: record.envName,
  version: record.version,
  mode: record.mode,
  rules: record.rules,
});
