import { z } from 'zod';
import { checkInbound } from '../../config/check-sections.ts';
import { routeFields, routePrefix } from '../../config/inbound.ts';
import type { InboundRoute } from '../../config/schema.ts';
import { GatewayError, toGatewayError } from '../../errors.ts';
import { newId, parseUuid } from '../../ids.ts';
import type { Gate } from '../../pipeline/gate.ts';
import { tokenPlace } from '../../pipeline/route-book.ts';
import { mayNameEnvironment } from '../../state/admission.ts';
import { liveKey } from '../../state/live-key.ts';
import { prefixTaken } from '../../state/routes.ts';
import type { StoredRoute } from '../../state/store.ts';
import { parseTarget } from '../../target.ts';
import { auditEvent } from '../audit-event.ts';
import {
  missing,
  ofTenant,
  pageByPlace,
  pageOf,
  pageQuery,
  time,
  toIsoOrNull,
  toListAnswer,
} from '../fields.ts';
import { invalid } from '../invalid.ts';
import { demand } from '../permissions.ts';
import { type ApiRequest, type Caller, route } from '../route.ts';

/*
 * Inbound routes beside those of the configuration, which stand here as well and are changed there alone. What a route's callers show is
 * written and never read.
 */

const tag = 'inbound routes';
const access = 'routes:write';
const what = 'inbound route';

const publicAuth = z.object({
  type: z.enum(['key', 'token', 'ip', 'none']),
  header: z.string().optional(),
  query: z.string().optional(),
  allow: z.array(z.string()).optional(),
});

const publicRoute = z
  .object({
    prefix: z.string(),
    tenant_id: z.string(),
    url: z.string().describe('Where its callers send their calls.'),
    agent: z.uuid().nullable(),
    upstream: z.string(),
    tool: z.string().nullable(),
    credential: z.string().nullable(),
    auth: publicAuth,
    allowed_methods: z.array(z.string()),
    allowed_paths: z.array(z.string()),
    max_body_bytes: z.int().nullable(),
    response_scan: z.object({ mode: z.string().nullable(), max_bytes: z.int().nullable() }).nullable(),
    source: z.enum(['file', 'api']),
    created_at: time.nullable(),
    changed_at: time.nullable(),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'InboundRoute' });

type PublicRoute = z.infer<typeof publicRoute>;

/** A misspelt field must not leave a route wider than it is meant to be. */
const settings = z.strictObject({ ...ofTenant, ...routeFields });
const creation = z.strictObject({ ...ofTenant, prefix: routePrefix, ...routeFields });
type Settings = z.output<typeof settings>;

/** `POST /v1/inbound-routes`: calls of `/inbound/{prefix}` are taken from now on, on every node. */
export const createInboundRoute = route({
  method: 'POST',
  path: '/v1/inbound-routes',
  tag,
  summary: 'Make an inbound route',
  access,
  status: 201,
  body: creation,
  answer: publicRoute,
  async handle(request) {
    const { gate, body } = request;
    if (gate.config.inbound.has(body.prefix)) throw prefixTaken();
    const stored = await toStored(request, body, body.prefix, undefined);
    await keepKey(request, stored, () =>
      gate.store.addRoute(stored, eventOf(request, stored, 'route.created')),
    );
    return toPublic(gate, gate.routes.open(stored), stored);
  },
});

/** `GET /v1/inbound-routes`: those of the configuration and those that were made here, by prefix. */
export const listInboundRoutes = route({
  method: 'GET',
  path: '/v1/inbound-routes',
  tag,
  summary: 'List the inbound routes',
  access,
  query: z.object({ ...ofTenant, ...pageQuery }),
  answer: pageOf(publicRoute),
  isListing: true,
  async handle({ gate, query, tenantId }) {
    const tenant = tenantId();
    const { inbound } = gate.config;
    const written = [...inbound.values()].filter((it) => it.tenantId === tenant);
    const stored = [...(await gate.store.routesOf(tenant)).values()].filter((it) => !inbound.has(it.prefix));
    const all = [
      ...written.map((it) => toPublic(gate, it, undefined)),
      ...stored.map((it) => toPublic(gate, gate.routes.open(it), it)),
    ];
    return toListAnswer(
      pageByPlace(all, (it) => it.prefix, query),
      (it) => it,
    );
  },
});

/** `GET /v1/inbound-routes/{prefix}` */
export const showInboundRoute = route({
  method: 'GET',
  path: '/v1/inbound-routes/:prefix',
  tag,
  summary: 'Show an inbound route',
  access,
  query: z.object(ofTenant),
  answer: publicRoute,
  async handle({ gate, params, tenantId }) {
    const tenant = tenantId();
    const written = gate.config.inbound.get(params['prefix'] ?? '');
    if (written?.tenantId === tenant) return toPublic(gate, written, undefined);
    const stored = await standing(gate, tenant, params['prefix']);
    return toPublic(gate, gate.routes.open(stored), stored);
  },
});

/** `PUT /v1/inbound-routes/{prefix}`: the whole route anew, the token of its callers with it. Those of the configuration are 409. */
export const replaceInboundRoute = route({
  method: 'PUT',
  path: '/v1/inbound-routes/:prefix',
  tag,
  summary: 'Replace an inbound route',
  access,
  body: settings,
  answer: publicRoute,
  async handle(request) {
    const { gate, body } = request;
    const before = await changeable(request);
    const stored = await toStored(request, body, before.prefix, before);
    await keepKey(request, stored, async () => {
      if (!(await gate.store.replaceRoute(stored, eventOf(request, stored, 'route.changed'))))
        throw missing(what);
    });
    if (before.keyId !== stored.keyId) await dropKey(request, before);
    return toPublic(gate, gate.routes.open(stored), stored);
  },
});

/** `DELETE /v1/inbound-routes/{prefix}`: calls are answered 404 from the next one on. Those of the configuration are 409. */
export const deleteInboundRoute = route({
  method: 'DELETE',
  path: '/v1/inbound-routes/:prefix',
  tag,
  summary: 'Delete an inbound route',
  access,
  query: z.object(ofTenant),
  answer: z.object({ prefix: z.string(), tenant_id: z.string(), status: z.literal('deleted') }),
  async handle(request) {
    const { gate } = request;
    const stored = await changeable(request);
    const { tenantId: tenant, prefix } = stored;
    if (!(await gate.store.removeRoute(tenant, prefix, eventOf(request, stored, 'route.deleted'))))
      throw missing(what);
    await dropKey(request, stored);
    return { prefix, tenant_id: tenant, status: 'deleted' as const };
  },
});

type Request = ApiRequest<unknown, unknown>;

async function standing(gate: Gate, tenantId: string, prefix = ''): Promise<StoredRoute> {
  const stored = (await gate.store.routesOf(tenantId)).get(prefix);
  if (!stored) throw missing(what);
  return stored;
}

async function changeable({ gate, caller, params, tenantId }: Request): Promise<StoredRoute> {
  const tenant = tenantId();
  const { prefix = '' } = params;
  if (gate.config.inbound.get(prefix)?.tenantId === tenant)
    throw new GatewayError('CONFLICT', 'The route stands in the configuration; change it there.');
  const stored = await standing(gate, tenant, prefix);
  const { agent } = stored.document;
  // As it was written.
  await demandAgent(gate, caller, typeof agent === 'string' ? (parseUuid(agent) ?? null) : null);
  return stored;
}

/** Throws CROSS_ENVIRONMENT where the calls of the route would be those of an agent for which the caller may make none. */
async function demandAgent({ store }: Gate, caller: Caller, agentId: string | null): Promise<void> {
  if (caller.kind !== 'key' || agentId === null) return;
  const { key } = caller;
  const agent = await store.agentById(agentId);
  if (!agent || key.permissions.includes('admin') || mayNameEnvironment(key, agent.envName)) return;
  throw new GatewayError(
    'CROSS_ENVIRONMENT',
    'The agent of the route belongs to an environment that the key may not name.',
  );
}

async function toStored(
  { gate, caller, raw, nowMs, tenantId }: Request,
  body: Settings,
  prefix: string,
  before: StoredRoute | undefined,
): Promise<StoredRoute> {
  const tenant = tenantId();
  // As it was written, for it is read by the same schema again; nobody has two views of it.
  const { tenant_id: _, prefix: __, ...written } = JSON.parse(raw.toString()) as Record<string, unknown>;
  const findings = checkInbound({ path: [], item: written });
  if (findings.length > 0)
    throw invalid(findings.map(({ path, message }) => ({ path: path.join('.'), message })));
  await check(gate, caller, tenant, body);
  const place = { tenantId: tenant, prefix };
  const { auth } = body;
  const isSame = before?.keyId && gate.routes.open(before).agentId === body.agent;
  return {
    ...place,
    document:
      auth.type === 'token'
        ? { ...written, auth: { ...Object(written['auth']), value: undefined } }
        : written,
    sealedToken: auth.type === 'token' ? gate.vault.seal(tokenPlace(place), auth.value) : null,
    keyId: auth.type === 'key' ? null : isSame ? before.keyId : newId(),
    createdAtMs: before?.createdAtMs ?? nowMs,
    changedAtMs: nowMs,
  };
}

/** What the route names must be there: a misspelt tool would pass by the rules for the one that is meant. */
async function check(
  gate: Gate,
  caller: Caller,
  tenantId: string,
  { agent, tool, credential, upstream }: Settings,
): Promise<void> {
  const { store, catalogues, config, guard } = gate;
  const refuse = (path: string, message: string): never => {
    throw invalid([{ path, message }]);
  };
  if (agent !== null && (await store.agentById(agent))?.tenantId !== tenantId)
    refuse('agent', 'there is no such agent in the tenant');
  await demandAgent(gate, caller, agent);
  if (tool !== null && !catalogues.of(tenantId).tools.some((it) => it.name === tool))
    refuse('tool', 'there is no such tool');
  const { host, port } = parseTarget(upstream);
  try {
    guard.checkHost(host, port);
  } catch (error) {
    refuse('upstream', toGatewayError(error).message);
  }
  if (credential === null) return;
  // Whoever names the upstream says where the credential goes.
  if (caller.kind === 'key') demand(caller.key, ['credentials:write']);
  const isWritten = config.credentials.some((it) => it.tenantId === tenantId && it.name === credential);
  if (!isWritten && !(await store.listCredentials(tenantId)).some((it) => it.name === credential))
    refuse('credential', 'there is no such credential; set it first: PUT /v1/credentials/{name}');
}

/** Callers who have no key of the gateway make their calls with one of the route, which no text has. */
async function keepKey(request: Request, stored: StoredRoute, save: () => Promise<void>): Promise<void> {
  const { gate, nowMs } = request;
  const { keyId, tenantId, prefix } = stored;
  const agentId = gate.routes.open(stored).agentId;
  const isNew = keyId !== null && (await gate.store.keyById(tenantId, keyId)) === undefined;
  if (isNew && agentId !== null) {
    const agent = await gate.store.agentById(agentId);
    const key = liveKey({
      ...gate.routeKey(gate.routes.open(stored)),
      keyId,
      tenantId,
      envName: agent?.envName ?? '',
      agentId,
      name: `inbound ${prefix}`,
      permissions: ['scan'],
      createdAtMs: nowMs,
    });
    await gate.store.addKey(key, keyEvent(request, stored, 'key.created'));
  }
  try {
    await save();
  } catch (error) {
    if (isNew) await dropKey(request, stored);
    throw error;
  }
}

async function dropKey(request: Request, stored: StoredRoute): Promise<void> {
  const { keyId, tenantId } = stored;
  if (keyId !== null)
    await request.gate.store.revokeKey(tenantId, keyId, keyEvent(request, stored, 'key.revoked'));
}

const keyEvent = (request: Request, { tenantId, keyId, prefix }: StoredRoute, kind: string) =>
  auditEvent(request, { tenantId, kind, subject: keyId ?? '', details: { name: `inbound ${prefix}` } });

const eventOf = (request: Request, { tenantId, prefix, document }: StoredRoute, kind: string) => {
  const { upstream, credential = null, agent = null } = document;
  return auditEvent(request, { tenantId, kind, subject: prefix, details: { upstream, credential, agent } });
};

function toPublic(gate: Gate, it: InboundRoute, stored: StoredRoute | undefined): PublicRoute {
  return {
    prefix: it.prefix,
    tenant_id: it.tenantId,
    url: `${gate.controlUrl}/inbound/${it.prefix}`,
    agent: it.agentId,
    upstream: it.upstream,
    tool: it.tool,
    credential: it.credential,
    auth: toPublicAuth(it.auth),
    allowed_methods: [...it.allowedMethods],
    allowed_paths: [...it.allowedPaths],
    max_body_bytes: it.maxBodyBytes,
    response_scan: it.responseScan && { mode: it.responseScan.mode, max_bytes: it.responseScan.maxBytes },
    source: stored ? 'api' : 'file',
    created_at: toIsoOrNull(stored?.createdAtMs ?? null),
    changed_at: toIsoOrNull(stored?.changedAtMs ?? null),
    warnings: warningsOf(it),
  };
}

function toPublicAuth(auth: InboundRoute['auth']): z.infer<typeof publicAuth> {
  if (auth.type === 'ip') return { type: auth.type, allow: [...auth.allow] };
  if (auth.type !== 'token') return { type: auth.type };
  return {
    type: auth.type,
    ...(auth.header === null ? {} : { header: auth.header }),
    ...(auth.query === null ? {} : { query: auth.query }),
  };
}

const warningsOf = ({ credential, upstream, auth }: InboundRoute): string[] => [
  ...(credential !== null && upstream.startsWith('http:')
    ? ['The credential goes over plain http, for everybody on the way to read.']
    : []),
  ...(auth.type === 'none' ? ['Anybody who reaches the gateway may call this route.'] : []),
];
