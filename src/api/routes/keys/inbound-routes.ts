import { z } from 'zod';
import { checkInbound } from '../../../config/checks/check-sections.ts';
import { routeFields, routePrefix } from '../../../config/sections/inbound.ts';
import { GatewayError } from '../../../core/errors.ts';
import { newId, parseUuid } from '../../../core/ids.ts';
import { parseTarget } from '../../../core/target.ts';
import { readRoute, tokenPlace } from '../../../credentials/route-book.ts';
import type { Gate } from '../../../decision/gate.ts';
import { mayNameEnvironment } from '../../../state/rules/admission.ts';
import { liveKey } from '../../../state/rules/live-key.ts';
import { prefixTaken } from '../../../state/rules/routes.ts';
import type { AgentRecord, StoredRoute } from '../../../state/store.ts';
import { whyBlocked } from '../../../wire/client/reach/guard.ts';
import { missing, ofTenant, pageByPlace, pageOf, pageQuery, toListAnswer } from '../../fields/fields.ts';
import { publicRoute, showStored, showWritten } from '../../fields/inbound-route-fields.ts';
import { invalid } from '../../fields/invalid.ts';
import { demand } from '../../fields/permissions.ts';
import { type ApiRequest, type Caller, routesOf } from '../../route.ts';

/*
 * Inbound routes that the API makes, beside those of the configuration. The latter are shown here as well,
 * and are changed in the configuration alone. The token that a route's callers show is written and never
 * read.
 */

const route = routesOf('inbound routes');
const access = 'routes:write';
const what = 'inbound route';

/** A misspelt field must not leave a route wider than it is meant to be. */
const settings = z.strictObject({ ...ofTenant, ...routeFields });
const creation = z.strictObject({ ...ofTenant, prefix: routePrefix, ...routeFields });
type Settings = z.output<typeof settings>;

/**
 * `POST /v1/inbound-routes` makes a route, whose calls (`/inbound/{prefix}`) every node takes from now on.
 */
export const createInboundRoute = route('POST /v1/inbound-routes', {
  summary: 'Make an inbound route',
  access,
  status: 201,
  body: creation,
  answer: publicRoute,
  async handle(request) {
    const { gate, body } = request;
    if (gate.config.inbound.has(body.prefix)) throw prefixTaken();
    const written = readWritten(request);
    const agent = await demandNamed(request, body);
    const stored = toStored(request, { written, body, prefix: body.prefix });
    await keepKey(request, stored, agent, () =>
      gate.store.addRoute(stored, eventOf(request, stored, 'route.created')),
    );
    return showStored(gate, stored);
  },
});

/**
 * `GET /v1/inbound-routes` lists the routes of the configuration and those that were made here, by prefix.
 */
export const listInboundRoutes = route('GET /v1/inbound-routes', {
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
    // There may be thousands of routes. Only those of the page are made ready to be shown.
    const all = [
      ...written.map((it) => ({ prefix: it.prefix, show: () => showWritten(gate, it) })),
      ...stored.map((it) => ({ prefix: it.prefix, show: () => showStored(gate, it) })),
    ];
    const page = pageByPlace(all, ({ prefix }) => prefix, query);
    return toListAnswer(page, ({ show }) => show());
  },
});

export const showInboundRoute = route('GET /v1/inbound-routes/:prefix', {
  summary: 'Show an inbound route',
  access,
  query: z.object(ofTenant),
  answer: publicRoute,
  async handle({ gate, params, tenantId }) {
    const tenant = tenantId();
    const written = gate.config.inbound.get(params['prefix'] ?? '');
    if (written?.tenantId === tenant) return showWritten(gate, written);
    return showStored(gate, await standing(gate, tenant, params['prefix']));
  },
});

/** `PUT /v1/inbound-routes/{prefix}` replaces a route and its callers' token; 409 if a file configures it. */
export const replaceInboundRoute = route('PUT /v1/inbound-routes/:prefix', {
  summary: 'Replace an inbound route',
  access,
  body: settings,
  answer: publicRoute,
  async handle(request) {
    const { gate, body } = request;
    const before = await changeable(request);
    const written = readWritten(request);
    const agent = await demandNamed(request, body);
    const stored = toStored(request, { written, body, prefix: before.prefix, before });
    await keepKey(request, stored, agent, async () => {
      if (!(await gate.store.replaceRoute(stored, eventOf(request, stored, 'route.changed'))))
        throw missing(what);
    });
    if (before.keyId !== stored.keyId) await dropKey(request, before);
    return showStored(gate, stored);
  },
});

/**
 * `DELETE /v1/inbound-routes/{prefix}` removes a route, whose calls get 404 from the next one on. A
 * configured route is answered 409.
 */
export const deleteInboundRoute = route('DELETE /v1/inbound-routes/:prefix', {
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
  // The document has the agent as it was written. The admin secret needs no permission for it.
  const agentId = typeof agent === 'string' ? parseUuid(agent) : undefined;
  if (agentId !== undefined && caller.kind === 'key')
    demandAgent(caller, await gate.store.agentById(agentId));
  return stored;
}

/** Throws CROSS_ENVIRONMENT where the caller may not name the environment of the route's agent. */
function demandAgent(caller: Caller, agent: AgentRecord | undefined): void {
  if (caller.kind !== 'key' || !agent) return;
  const { key } = caller;
  if (key.permissions.includes('admin') || mayNameEnvironment(key, agent.envName)) return;
  throw new GatewayError(
    'CROSS_ENVIRONMENT',
    'The agent of the route belongs to an environment that the key may not name.',
  );
}

type Written = Readonly<Record<string, unknown>>;

/**
 * Returns the settings as they were written, since the same schema reads them again later. Throws
 * VALIDATION_FAILED where they are not valid.
 */
function readWritten({ raw }: Request): Written {
  const { tenant_id: _, prefix: __, ...written } = JSON.parse(raw.toString()) as Written;
  const findings = checkInbound({ path: [], item: written });
  if (findings.length === 0) return written;
  throw invalid(findings.map(({ path, message }) => ({ path: path.join('.'), message })));
}

interface Changing {
  readonly written: Written;
  readonly body: Settings;
  readonly prefix: string;
  /** The route that is replaced; absent where a new one is made. */
  readonly before?: StoredRoute;
}

function toStored(
  { gate, nowMs, tenantId }: Request,
  { written, body, prefix, before }: Changing,
): StoredRoute {
  const place = { tenantId: tenantId(), prefix };
  const { auth } = body;
  const isSame = before?.keyId && readRoute(before).agentId === body.agent;
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

/**
 * Returns the route's agent, after checking that all names in the route exist. A misspelt tool would evade
 * the rules of the right one. Throws VALIDATION_FAILED.
 */
async function demandNamed(
  { gate, caller, tenantId: tenant }: Request,
  { agent: agentId, tool, credential, upstream }: Settings,
): Promise<AgentRecord | undefined> {
  const { store, catalogues, config, guard } = gate;
  const tenantId = tenant();
  const refuse = (path: string, message: string): never => {
    throw invalid([{ path, message }]);
  };
  const agent = agentId === null ? undefined : await store.agentById(agentId);
  if (agentId !== null && agent?.tenantId !== tenantId)
    refuse('agent', 'there is no such agent in the tenant');
  demandAgent(caller, agent);
  if (tool !== null && !catalogues.of(tenantId).tools.some((it) => it.name === tool))
    refuse('tool', 'there is no such tool');
  const blocked = whyBlocked(guard, parseTarget(upstream));
  if (blocked) refuse('upstream', blocked.message);
  if (credential === null) return agent;
  // Whoever names the upstream says where the credential goes.
  if (caller.kind === 'key') demand(caller.key, ['credentials:write']);
  const isWritten = config.credentials.some((it) => it.tenantId === tenantId && it.name === credential);
  if (!isWritten && !(await store.listCredentials(tenantId)).some((it) => it.name === credential))
    refuse('credential', 'there is no such credential; set it first: PUT /v1/credentials/{name}');
  return agent;
}

/**
 * Saves a route, and before it the key for callers that have no key of the gateway. No text has that key's
 * digest. Where saving fails, a new key is revoked again.
 */
async function keepKey(
  request: Request,
  stored: StoredRoute,
  agent: AgentRecord | undefined,
  save: () => Promise<void>,
): Promise<void> {
  const { gate, nowMs } = request;
  const { keyId, tenantId, prefix } = stored;
  const isNew = keyId !== null && (await gate.store.keyById(tenantId, keyId)) === undefined;
  if (isNew && agent) {
    const key = liveKey({
      ...gate.routeKey(stored),
      keyId,
      tenantId,
      envName: agent.envName,
      agentId: agent.agentId,
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

const keyEvent = ({ audit }: Request, { keyId, prefix }: StoredRoute, kind: string) =>
  audit(kind, keyId ?? '', { name: `inbound ${prefix}` });

const eventOf = ({ audit }: Request, { prefix, document }: StoredRoute, kind: string) => {
  const { upstream, credential = null, agent = null } = document;
  return audit(kind, prefix, { upstream, credential, agent });
};
