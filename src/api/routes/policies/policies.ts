import { z } from 'zod';
import type { Gate } from '../../../decision/gate.ts';
import type { Paged, PolicyRecord } from '../../../state/store.ts';
import {
  envName,
  listing,
  missing,
  pageByPlace,
  pageOf,
  pageQuery,
  toListAnswer,
  toPage,
} from '../../fields/fields.ts';
import {
  type DescribedPolicy,
  describedPolicy,
  describeFile,
  describePolicy,
  refuseFiles,
} from '../../fields/policy-fields.ts';
import { routesOf } from '../../route.ts';

const route = routesOf('policies');
const ofEnvironment = { env: envName.optional().describe('Absent: the policy for all environments') };

/** Returns the place in a list: by name, then environment. The one for all environments comes first. */
const placeOf = (it: { name: string; env_name: string | null; source: string }): string =>
  `${it.name}\n${it.env_name ?? ''}\n${it.source}`;

/** `GET /v1/policies` lists the latest version of each policy, and the policies of files. */
export const listPolicies = route('GET /v1/policies', {
  summary: 'List the latest version of each policy',
  access: 'policies:read',
  ...listing(describedPolicy),
  async handle({ gate, query, tenantId: ofCaller }) {
    const tenantId = ofCaller();
    const records = await gate.store.policiesOf(tenantId);
    const files = gate.policies.filesOf(tenantId).flatMap(describeFile);
    return toListAnswer(pageByPlace([...files, ...records.map(describePolicy)], placeOf, query), (it) => it);
  },
});

/** `GET /v1/policies/by-name/{name}` shows the latest version for the environment, else for all of them. */
export const policyByName = route('GET /v1/policies/by-name/:name', {
  summary: 'The latest version of a policy',
  access: 'policies:read',
  query: z.object(ofEnvironment),
  answer: describedPolicy,
  async handle({ gate, params, query, tenantId: ofCaller }) {
    const [tenantId, name, env] = [ofCaller(), params['name'] ?? '', query.env ?? null];
    const files = filesOf(gate, tenantId, name);
    const file = files.find((it) => it.env_name === env) ?? files.find((it) => it.env_name === null);
    if (file) return file;
    const record = await gate.store.policyByName(tenantId, name, env);
    if (!record) throw missing('policy');
    return describePolicy(record);
  },
});

/** `GET /v1/policies/by-name/{name}/versions` lists this environment's versions, newest first. */
export const policyVersions = route('GET /v1/policies/by-name/:name/versions', {
  summary: 'List the versions of a policy',
  access: 'policies:read',
  query: z.object({ ...pageQuery, ...ofEnvironment }),
  answer: pageOf(describedPolicy),
  isListing: true,
  async handle({ gate, params, query, tenantId: ofCaller }) {
    const [tenantId, name, env] = [ofCaller(), params['name'] ?? '', query.env ?? null];
    const file = filesOf(gate, tenantId, name).find((it) => it.env_name === env);
    if (file) return { items: [file], next_cursor: null };
    const page: Paged<PolicyRecord> = await gate.store.policyVersions(tenantId, name, env, toPage(query));
    if (page.items.length === 0 && query.cursor === undefined) throw missing('policy');
    return toListAnswer(page, describePolicy);
  },
});

/** `DELETE /v1/policies/by-name/{name}` ends a policy for the next call on every node. Its versions stay. */
export const archivePolicy = route('DELETE /v1/policies/by-name/:name', {
  summary: 'Archive a policy',
  access: 'policies:write',
  query: z.object(ofEnvironment),
  answer: describedPolicy,
  async handle({ gate, params, query, tenantId: ofCaller, nowMs, audit }) {
    const [tenantId, name, env] = [ofCaller(), params['name'] ?? '', query.env ?? null];
    refuseFiles(gate, tenantId, name);
    const event = audit('policy.archived', name, { env_name: env });
    const record = await gate.store.archivePolicy({ tenantId, name, envName: env, nowMs }, event);
    if (!record) throw missing('policy');
    return describePolicy(record);
  },
});

const filesOf = (gate: Gate, tenantId: string, name: string): DescribedPolicy[] =>
  gate.policies
    .filesOf(tenantId)
    .filter(({ document }) => document.name === name)
    .flatMap(describeFile);
