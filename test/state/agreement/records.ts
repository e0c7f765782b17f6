import fc from 'fast-check';
import type { Band } from '../../../src/core/call.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { mcpServerId } from '../../../src/state/rules/mcp-tools.ts';
import type { IncidentRecord, KeyRecord, Store } from '../../../src/state/store.ts';
import { agentRecord, auditEvent, incidentRecord, keyRecord, policyApply } from '../records.ts';
import type { Agreement, CaseNames } from './agreement.ts';

const number = fc.nat(2);
const flag = fc.boolean();
/** A kind of step with its fields. */
const of = <K extends string, F extends object>(kind: K, fields: { [N in keyof F]: fc.Arbitrary<F[N]> }) =>
  fc.record<{ kind: K }>({ kind: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<
    { readonly kind: K } & F
  >;

const steps = fc.oneof(
  of('add key', {
    key: fc.nat(4),
    agent: fc.nat(3),
    parent: fc.constantFrom(null, 0, 1, 9),
    hash: fc.nat(4),
    ends: flag,
  }),
  of('revoke key', { key: fc.nat(4) }),
  of('update key', { key: fc.nat(4), ends: flag }),
  of('open incident', {
    incident: fc.nat(3),
    agent: number,
    severity: fc.constantFrom<Band[]>('LOW', 'HIGH'),
    traces: fc.nat(3),
  }),
  of('change incident', {
    incident: fc.nat(3),
    from: fc.constantFrom('open' as const, 'investigating' as const),
    isMoved: flag,
  }),
  of('apply policy', { policy: number, env: fc.constantFrom(null, 'prod'), rules: fc.nat(2) }),
  of('archive policy', { policy: number, env: fc.constantFrom(null, 'prod') }),
  of('put credential', { name: number, sealed: fc.nat(2) }),
  of('reseal credential', { name: number, from: fc.nat(2), to: fc.nat(2) }),
  of('remove credential', { name: number }),
  of('add route', { route: number, isOther: flag }),
  of('change route', { route: number, isOther: flag, sealed: fc.nat(2) }),
  of('reseal route', { route: number, from: fc.nat(2), to: fc.nat(2) }),
  of('remove route', { route: number, isOther: flag }),
  of('tools', { tools: fc.array(fc.tuple(number, number), { maxLength: 3 }), isPart: flag, hasMore: flag }),
  of('accept tools', { tools: fc.constantFrom(undefined, ['tool0'], ['tool1', 'tool2']) }),
  of('bind', {
    agent: number,
    home: fc.nat(1),
    credentials: fc.array(number, { minLength: 1, maxLength: 3 }),
    keptMs: fc.constantFrom(1_000, 3_600_000),
  }),
  of('claim nonce', { key: fc.nat(1), nonce: number, lastsMs: fc.constantFrom(1_000, 300_000) }),
  of('tell', { place: fc.nat(5) }),
  of('alert', { period: fc.nat(2), percent: fc.constantFrom(80, 100) }),
  of('look', {}),
);

type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

const all = { limit: 100, cursor: undefined };

function keyOf(step: Extract<Step, { kind: 'add key' }>, names: CaseNames, nowMs: number): KeyRecord {
  const { tenantId, id } = names;
  return keyRecord({
    ...{ tenantId, keyId: id(100 + step.key), agentId: id(step.agent), createdAtMs: nowMs },
    hash: id(200 + step.hash)
      .replaceAll('-', '')
      .repeat(2),
    ...(step.parent === null ? {} : { type: 'ephemeral', parentKeyId: id(100 + step.parent) }),
    expiresAtMs: step.ends || step.parent !== null ? nowMs + 60_000 : null,
  });
}

/** All that stands of the tenant. */
async function standing(store: Store, { tenantId }: CaseNames): Promise<unknown> {
  return [
    await store.listKeys(tenantId, all),
    await store.listIncidents(tenantId, {}, all),
    await store.listIncidents(tenantId, { status: 'open', severity: 'HIGH' }, all),
    [...(await store.policiesOf(tenantId))].sort((a, b) => (a.policyId < b.policyId ? -1 : 1)),
    await store.listCredentials(tenantId),
    [...(await store.routesOf(tenantId))].sort(([a], [b]) => (a < b ? -1 : 1)),
    await store.listMcpServers(tenantId, all),
    (await store.listAudit(tenantId, {}, all)).items.map(({ kind, subject, details }) => [
      kind,
      subject,
      details,
    ]),
  ];
}

/** Records that people and configurations change: who may, what becomes of them, and what the audit log says. */
export const records: Agreement<Step> = {
  steps,
  runs: 80,
  lengthMax: 40,
  async begin(store, names) {
    const { tenantId, otherTenantId, id } = names;
    for (const nth of [0, 1, 2]) await store.ensureAgent(agentRecord({ tenantId, agentId: id(nth) }));
    const origin = 'https://mcp.example.com';
    const server = { serverId: mcpServerId(tenantId, origin), origin: ownName(origin) };
    const routeOf = (route: number, isOther: boolean, sealed: number | null, nowMs: number) => ({
      ...{ tenantId: isOther ? otherTenantId : tenantId, prefix: `r${route}-${tenantId}`, document: {} },
      ...{
        sealedToken: sealed === null ? null : `sealed${sealed}`,
        keyId: null,
        createdAtMs: nowMs,
        changedAtMs: nowMs,
      },
    });

    const change = async (step: Step, nowMs: number): Promise<unknown> => {
      const event = auditEvent({ tenantId, atMs: nowMs, kind: step.kind });
      switch (step.kind) {
        case 'add key':
          return store.addKey(keyOf(step, names, nowMs), event);
        case 'revoke key':
          return store.revokeKey(tenantId, id(100 + step.key), event);
        case 'update key':
          return store.updateKey(
            tenantId,
            id(100 + step.key),
            { expiresAtMs: step.ends ? nowMs : null },
            event,
          );
        case 'open incident':
          return store.openIncident(incidentOf(step, names, nowMs), event);
        case 'change incident': {
          const { from, isMoved, incident } = step;
          const moved = from === 'open' ? 'investigating' : 'closed';
          const note = { atMs: nowMs, author: 'admin', text: 'noted' };
          return store.changeIncident(
            tenantId,
            id(300 + incident),
            from,
            isMoved ? { status: moved } : { note },
            event,
          );
        }
        case 'apply policy': {
          const rules = Array.from({ length: step.rules }, (_, at) => ({ id: `r${at}`, action: 'DENY' }));
          const place = {
            name: `p${step.policy}`,
            envName: step.env,
            policyId: id(400 + step.policy * 2 + (step.env ? 1 : 0)),
          };
          return store.applyPolicy(policyApply({ tenantId, rules, nowMs, ...place }), event);
        }
        case 'archive policy':
          return store.archivePolicy({ tenantId, name: `p${step.policy}`, envName: step.env, nowMs }, event);
        case 'put credential':
          return store.putCredential(
            {
              ...{ tenantId, name: `c${step.name}`, type: 'bearer' },
              sealed: `sealed${step.sealed}`,
              changedAtMs: nowMs,
            },
            event,
          );
        case 'reseal credential':
          return store.resealCredential(
            { tenantId, name: `c${step.name}`, from: `sealed${step.from}`, to: `sealed${step.to}` },
            event,
          );
        case 'remove credential':
          return store.removeCredential(tenantId, `c${step.name}`, event);
        case 'add route': {
          const route = routeOf(step.route, step.isOther, 0, nowMs);
          return store.addRoute(route, { ...event, tenantId: route.tenantId });
        }
        case 'change route': {
          const route = routeOf(step.route, step.isOther, step.sealed, nowMs);
          return store.replaceRoute(route, { ...event, tenantId: route.tenantId });
        }
        case 'reseal route':
          return store.resealRoute(
            {
              tenantId,
              prefix: `r${step.route}-${tenantId}`,
              from: `sealed${step.from}`,
              to: `sealed${step.to}`,
            },
            event,
          );
        case 'remove route': {
          const route = routeOf(step.route, step.isOther, null, nowMs);
          return store.removeRoute(route.tenantId, route.prefix, { ...event, tenantId: route.tenantId });
        }
        case 'tools': {
          const tools = step.tools.map(([tool, version]) => ({
            ...{ name: ownName(`tool${tool}`), version: `v${version}` },
            marks: version === 2 ? (['risky'] as const) : [],
          }));
          const { isPart, hasMore } = step;
          return store.rememberTools({
            tenantId,
            server,
            listId: 'list',
            path: ownName('/mcp'),
            tools,
            isPart,
            hasMore,
            nowMs,
          });
        }
        case 'accept tools':
          return store.acceptTools(tenantId, server.serverId, step.tools, event);
        case 'bind': {
          const { keptMs } = step;
          const credentials = step.credentials.map((it) => ({ credential: `k${it}`, keptMs }));
          return store.bindHomes({
            tenantId,
            agentId: id(step.agent),
            home: `h${step.home}`,
            credentials,
            nowMs,
          });
        }
        case 'claim nonce':
          return store.claimNonce(tenantId, id(step.key), `n${step.nonce}`, nowMs, nowMs + step.lastsMs);
        case 'tell':
          await store.noteTold(tenantId, 'audit', step.place);
          return store.toldUpTo(tenantId, 'audit');
        case 'alert':
          return store.alertUsage(tenantId, { periodStartMs: step.period, percent: step.percent }, event);
        case 'look':
          return [await standing(store, names), await store.homesOf(tenantId, ['k0', 'k1', 'k2'], nowMs)];
      }
    };
    return change;
  },
};

function incidentOf(
  { incident, agent, severity, traces }: Extract<Step, { kind: 'open incident' }>,
  { tenantId, id }: CaseNames,
  openedAtMs: number,
): IncidentRecord {
  const traceIds = Array.from({ length: traces }, (_, at) => id(500 + at));
  const own = { tenantId, agentId: id(agent), incidentId: id(300 + incident), severity, openedAtMs };
  return incidentRecord({ ...own, traceIds, traceCount: traces });
}
