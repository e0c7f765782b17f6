import type { TenantConfig } from '../../config/schema.ts';
import {
  AdmittedCall,
  type ClassifiedCall,
  type Identity,
  type Operation,
  type Outcome,
  operationAndParts,
  verbs,
} from '../../core/call.ts';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { CallHistory } from '../../core/history.ts';
import { ownName } from '../../core/safe-name.ts';
import { isAddressAllowed } from '../../state/rules/admission.ts';
import { alertAt } from '../../state/rules/limits.ts';
import { trustPartsAt, trustPartsMax } from '../../state/rules/trust.ts';
import type {
  Admission,
  AdmitRequest,
  Admitted,
  MaybePromise,
  NotAdmitted,
  Store,
  TrustTerms,
} from '../../state/store.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import type { PolicyBook } from '../../tenants/policy-book.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import type { ToolSettings } from '../../tenants/tool-settings.ts';
import { after } from '../../util/maybe-promise.ts';
import { tooLarge } from '../../wire/server/collect.ts';
import { least, unsaidBytesMax } from '../body-limit.ts';
import { type ChargesOf, createCharges } from '../budgets.ts';
import { admitDegraded, identifyOrRecall } from '../degraded.ts';
import { mcpCallOf } from '../facts/mcp-call.ts';
import { RefusedCall, type Stage } from '../pipeline.ts';
import type { Events } from '../trace/events.ts';
import { readName } from '../trace/safe-names.ts';
import { touchedNamesOf } from '../trace/touched-names.ts';

const dayMs = 86_400_000;
/** Registrations of one tenant a day, by this process. */
export const registrationsPerDayMax = 10_000;

export interface AdmitOptions {
  readonly store: Store;
  readonly tenants: Tenants;
  readonly catalogues: Catalogues;
  readonly policies: Pick<PolicyBook, 'rulesFor'>;
  readonly events: Events;
  readonly toolSettings: Pick<ToolSettings, 'maxBodyBytes' | 'smallestMaxBodyBytes'>;
  /** How trust comes back. */
  readonly trust: TrustTerms;
}

const outcomeOf: Readonly<Partial<Record<NotAdmitted['code'], Outcome>>> = {
  IP_NOT_ALLOWED: 'blocked',
  RATE_LIMITED: 'limited',
};

type Admitting = MaybePromise<AdmittedCall<TenantConfig> | RefusedCall>;

/**
 * May it call at all? One atomic round trip to the state, behind the body limit of the key's tenant: what is too large takes nothing. Here
 * alone the tenant of a live call is looked up: all later stages find it in the call.
 */
export function admit(options: AdmitOptions): Stage<ClassifiedCall, AdmittedCall<TenantConfig>> {
  const { store, tenants, catalogues, policies, events, toolSettings, trust } = options;
  const chargesOf = createCharges(tenants);

  const ask = (request: AdmitRequest): MaybePromise<Admission> => {
    try {
      const admission = store.admit(request);
      return admission instanceof Promise
        ? admission.catch((error: unknown) => withoutState(request, error))
        : admission;
    } catch (error) {
      return withoutState(request, error);
    }
  };

  /** The last known standing of the key, where its tenant allows that; else the failure stands. */
  function withoutState(request: AdmitRequest, error: unknown): Admission {
    const isAway = toGatewayError(error).code === 'STATE_UNAVAILABLE';
    const admission = isAway ? admitDegraded(store, tenants, request) : undefined;
    if (!admission) throw error;
    return admission;
  }

  /**
   * A UUID that no agent has yet is registered for the key's tenant, then the call is admitted like any other. The call is not read yet,
   * but what it says of the agent is.
   */
  async function registerAgent(call: ClassifiedCall, request: AdmitRequest): Promise<Admission> {
    const holder = await store.identify(request.keyHash, request.nowMs);
    if (!holder.ok || request.agentId === undefined) {
      throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    }
    const { tenantId } = holder.identity;
    if (!tenants.find(tenantId)?.autoRegisterAgents) {
      throw new GatewayError(
        'FORBIDDEN',
        'This agent is not known, and agents are not registered by their calls here.',
      );
    }
    countRegistration(tenantId, request.nowMs);
    const { engine } = await policies.rulesFor(tenantId);
    const { agentName, runtimeType } = call.received.claimed;
    await store.ensureAgent({
      agentId: request.agentId,
      tenantId,
      envName: request.envName ?? holder.identity.envName,
      name: (agentName && readName(engine, agentName)) || request.agentId,
      runtimeType: (runtimeType && readName(engine, runtimeType)) || null,
      status: 'active',
      createdAtMs: request.nowMs,
    });
    return ask(request);
  }

  /** Registered since the day began, by tenant. */
  const registered = new Map<string, number>();
  let day = 0;

  function countRegistration(tenantId: string, nowMs: number): void {
    const today = Math.floor(nowMs / dayMs);
    if (today !== day) registered.clear();
    day = today;
    const count = (registered.get(tenantId) ?? 0) + 1;
    if (count > registrationsPerDayMax) {
      throw new GatewayError('FORBIDDEN', 'Too many agents were registered by their calls today.');
    }
    registered.set(tenantId, count);
  }

  function accept(call: ClassifiedCall, admission: Admission): AdmittedCall<TenantConfig> | RefusedCall {
    const { identity } = admission;
    if (!admission.ok)
      return refusedOf(call, identity, admissionError(admission), outcomeOf[admission.code] ?? 'refused');
    const tenant = tenants.find(admission.identity.tenantId);
    if (!tenant) {
      const error = new GatewayError('INVALID_KEY', 'The key is not valid: its tenant is not served here.');
      return refusedOf(call, identity, error);
    }
    const { scansPerMonth } = tenant.plan;
    if (scansPerMonth !== null) tellUsage(tenant.id, call.receivedAtMs, admission.scansUsed, scansPerMonth);
    const isDegraded = 'isDegraded' in admission;
    return new AdmittedCall(call, {
      tenant,
      identity: admission.identity,
      agentStatus: admission.agentStatus,
      // A call that was let through without the state was not counted by it.
      outcome: isDegraded ? 'refused' : 'call',
      isDegraded,
      scopeViolations: admission.scopeViolations,
      exceededBudgets: admission.exceededBudgets,
      charges: admission.charges,
      toolConcerns: admission.toolConcerns,
      history: historyOf(call, admission),
    });
  }

  function historyOf(call: ClassifiedCall, admission: Admitted): CallHistory {
    const { newNames, habits, trust: standing, sightings, isNewDestination } = admission;
    const [host, tool, operation] = newNames.length > 0 ? touchedNamesOf(call) : [];
    return {
      isNewDestination,
      isNewHost: host !== undefined && newNames.includes(host),
      isNewOperation:
        operation !== undefined &&
        newNames.includes(operation) &&
        tool !== undefined &&
        !newNames.includes(tool),
      newNames,
      habits,
      trustScore: trustPartsAt(standing, call.receivedAtMs, trust) / trustPartsMax,
      trustMarks: standing.marks,
      sightings,
    };
  }

  /** Each count is given to one call alone: that one tells it. */
  function tellUsage(tenantId: string, atMs: number, used: number, quota: number): void {
    const percent = alertAt(used, quota);
    if (percent !== undefined) events.tellUsage({ tenantId, atMs, percent, used, quota });
  }

  function settle(call: ClassifiedCall, request: AdmitRequest, admission: Admission): Admitting {
    if (admission.ok) return accept(call, admission);
    const tenantId = admission.identity?.tenantId;
    if (tenantId !== undefined && !tenants.find(tenantId)) return askAnew(call, request, tenantId, admission);
    if (admission.code !== 'UNKNOWN_AGENT') return accept(call, admission);
    return registerAgent(call, request).then(
      (it) => accept(call, it),
      // Whatever becomes of it, it is known whose call it was.
      (error: unknown) => refusedOf(call, admission.identity, toGatewayError(error)),
    );
  }

  /** Another node may have registered the tenant. */
  async function askAnew(
    call: ClassifiedCall,
    request: AdmitRequest,
    tenantId: string,
    refused: NotAdmitted,
  ): Promise<AdmittedCall<TenantConfig> | RefusedCall> {
    const isKnown = (await tenants.learn(tenantId)) !== undefined;
    return isKnown ? settle(call, request, await ask(request)) : accept(call, refused);
  }

  /** Whose limit counts is asked only of bodies that are too large for some tenant. Who may not call at all is not told of it. */
  async function tooLargeCall(
    call: ClassifiedCall,
    { keyHash, nowMs }: AdmitRequest,
  ): Promise<RefusedCall | undefined> {
    const { body, target, operation } = call;
    const holder = await identifyOrRecall({ store, tenants }, keyHash, nowMs);
    if (!holder.ok || !isAddressAllowed(holder.key, call.clientAddress)) return undefined;
    const { tenantId } = holder.identity;
    if (!(await tenants.learn(tenantId))) return undefined;
    const toolMax = toolSettings.maxBodyBytes(tenantId, operation.toolName);
    const said = least(call.received.bodyBytesMax, toolMax);
    const bytesMax = said ?? unsaidBytesMax({ tenants, catalogues }, tenantId, target);
    return body.length > bytesMax
      ? refusedOf(call, holder.identity, tooLarge(body.length, bytesMax))
      : undefined;
  }

  const enter = (call: ClassifiedCall, request: AdmitRequest): Admitting =>
    after(ask(request), (it) => settle(call, request, it));

  return {
    name: 'admit',
    run(call) {
      const request = toRequest(call, tenants.termsOf, chargesOf);
      const wayMax = call.received.bodyBytesMax ?? tenants.smallestMaxBodyBytes;
      return call.body.length > Math.min(wayMax, toolSettings.smallestMaxBodyBytes)
        ? tooLargeCall(call, request).then((refused) => refused ?? enter(call, request))
        : enter(call, request);
    },
  };
}

/** A call that may not be made, with what is known of whose it was. */
const refusedOf = (
  { received, operation, destination }: ClassifiedCall,
  identity: Identity | undefined,
  error: GatewayError,
  outcome: Outcome = 'refused',
): RefusedCall =>
  new RefusedCall({ received, operation, destination, ...(identity && { identity }), outcome }, error);

function toRequest(
  call: ClassifiedCall,
  termsOf: AdmitRequest['termsOf'],
  chargesOf: ChargesOf | undefined,
): AdmitRequest {
  const { key, operation } = call;
  const { claimed } = call.received;
  if (!key) throw new GatewayError('INVALID_KEY', 'Send a valid API key.');
  return {
    ...doneBy(operation),
    keyHash: key.hash,
    nowMs: call.receivedAtMs,
    agentId: claimed.agentId,
    envName: claimed.envName,
    clientAddress: call.clientAddress,
    destination: call.destination,
    names: touchedNamesOf(call),
    mutations: mutationsOf(operation),
    mcp: mcpCallOf(operation, call.target),
    counts: 'call',
    termsOf,
    chargesOf: chargesOf && ((identity) => chargesOf(call, identity)),
  };
}

/**
 * The operations that the scope of a key is checked against. Tools are named by the catalogue and the configuration,
 * never by a caller.
 */
export const doneBy = (operation: Operation): Pick<AdmitRequest, 'toolName' | 'verb' | 'parts'> => ({
  toolName: ownName(operation.toolName),
  verb: operation.verb,
  ...(operation.parts || operation.unclear ? { parts: allOf(operation) } : {}),
});

/** A POST to a host without a tool need not change anything. */
function mutationsOf({ toolName, verb, parts }: Operation): number {
  if (verb === 'READ' || toolName === 'custom_proxy') return 0;
  return Math.max(1, parts?.filter((it) => it.operation.verb !== 'READ').length ?? 1);
}

/** All that the call does, and may do where nobody can tell. */
const allOf = (operation: Operation): NonNullable<AdmitRequest['parts']> =>
  operationAndParts(operation).flatMap(({ toolName, verb, unclear }) =>
    unclear
      ? [toolName, ...unclear.toolNames].flatMap((it) =>
          verbs.map((each) => ({ toolName: ownName(it), verb: each })),
        )
      : { toolName: ownName(toolName), verb },
  );

export function admissionError({ code, detail, retryAfterSeconds }: NotAdmitted): GatewayError {
  if (code === 'UNKNOWN_AGENT') return new GatewayError('NOT_FOUND', detail);
  return new GatewayError(code, detail, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
}
