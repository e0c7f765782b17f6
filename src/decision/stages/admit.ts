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
  TrustTerms,
} from '../../state/store.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import type { ToolSettings } from '../../tenants/tool-settings.ts';
import { after, orElse } from '../../util/maybe-promise.ts';
import { tooLarge } from '../../wire/server/collect.ts';
import { least, unsaidBytesMax } from '../body-limit.ts';
import { type ChargesOf, createCharges } from '../budgets.ts';
import { admitDegraded, identifyOrRecall } from '../degraded.ts';
import { mcpCallOf } from '../facts/mcp-call.ts';
import { RefusedCall, type Stage } from '../pipeline.ts';
import type { Events } from '../trace/events.ts';
import { touchedNamesOf } from '../trace/touched-names.ts';
import { createRegistration, type RegisterAgent, type RegistrationOptions } from './agent-registration.ts';

export interface AdmitOptions extends RegistrationOptions {
  readonly catalogues: Catalogues;
  readonly events: Events;
  readonly toolSettings: Pick<ToolSettings, 'maxBodyBytes' | 'smallestMaxBodyBytes'>;
  /** The way in which trust comes back. */
  readonly trust: TrustTerms;
}

const outcomeOf: Readonly<Partial<Record<NotAdmitted['code'], Outcome>>> = {
  IP_NOT_ALLOWED: 'blocked',
  RATE_LIMITED: 'limited',
};

type Admitting = MaybePromise<AdmittedCall<TenantConfig> | RefusedCall>;

/**
 * Creates the stage that asks whether the caller may call at all. It makes one atomic round trip to the
 * state. The body limit of the key's tenant comes before, so what is too large takes nothing. Only here is
 * the tenant of a live call looked up. All later stages find it in the call.
 */
export const admit = (options: AdmitOptions): Stage<ClassifiedCall, AdmittedCall<TenantConfig>> =>
  new AdmitStage(options);

class AdmitStage implements Stage<ClassifiedCall, AdmittedCall<TenantConfig>> {
  readonly name = 'admit';
  readonly #options: AdmitOptions;
  readonly #chargesOf: ChargesOf | undefined;
  readonly #register: RegisterAgent;

  constructor(options: AdmitOptions) {
    this.#options = options;
    this.#chargesOf = createCharges(options.tenants);
    this.#register = createRegistration(options);
  }

  run(call: ClassifiedCall): Admitting {
    const { tenants, toolSettings } = this.#options;
    const request = toRequest(call, tenants.termsOf, this.#chargesOf);
    const knownMax = call.received.bodyBytesMax ?? tenants.smallestMaxBodyBytes;
    return call.body.length > Math.min(knownMax, toolSettings.smallestMaxBodyBytes)
      ? this.#tooLargeCall(call, request).then((refused) => refused ?? this.#enter(call, request))
      : this.#enter(call, request);
  }

  #enter(call: ClassifiedCall, request: AdmitRequest): Admitting {
    return after(this.#ask(request), (it) => this.#settle(call, request, it));
  }

  #ask(request: AdmitRequest): MaybePromise<Admission> {
    return orElse(
      () => this.#options.store.admit(request),
      (error) => this.#withoutState(request, error),
    );
  }

  /**
   * Returns the last known standing of the key, where its tenant allows that. Otherwise it throws the state's
   * error.
   */
  #withoutState(request: AdmitRequest, error: unknown): Admission {
    const { store, tenants } = this.#options;
    const isAway = toGatewayError(error).code === 'STATE_UNAVAILABLE';
    const admission = isAway ? admitDegraded(store, tenants, request) : undefined;
    if (!admission) throw error;
    return admission;
  }

  #settle(call: ClassifiedCall, request: AdmitRequest, admission: Admission): Admitting {
    if (admission.ok) return this.#accept(call, admission);
    const tenantId = admission.identity?.tenantId;
    if (tenantId !== undefined && !this.#options.tenants.find(tenantId))
      return this.#askAnew(call, request, tenantId, admission);
    if (admission.code !== 'UNKNOWN_AGENT') return this.#accept(call, admission);
    return this.#registerAndAsk(call, request).then(
      (it) => this.#accept(call, it),
      // Whatever becomes of the call, it is known whose it was.
      (error: unknown) => refusedOf(call, admission.identity, toGatewayError(error)),
    );
  }

  async #registerAndAsk(call: ClassifiedCall, request: AdmitRequest): Promise<Admission> {
    await this.#register(call.received.claimed, request);
    return this.#ask(request);
  }

  /** Asks again where another node may have registered the tenant. */
  async #askAnew(
    call: ClassifiedCall,
    request: AdmitRequest,
    tenantId: string,
    refused: NotAdmitted,
  ): Promise<AdmittedCall<TenantConfig> | RefusedCall> {
    const isKnown = (await this.#options.tenants.learn(tenantId)) !== undefined;
    return isKnown ? this.#settle(call, request, await this.#ask(request)) : this.#accept(call, refused);
  }

  #accept(call: ClassifiedCall, admission: Admission): AdmittedCall<TenantConfig> | RefusedCall {
    const { tenants, trust } = this.#options;
    const { identity } = admission;
    if (!admission.ok)
      return refusedOf(call, identity, admissionError(admission), outcomeOf[admission.code] ?? 'refused');
    const tenant = tenants.find(admission.identity.tenantId);
    if (!tenant) {
      const error = new GatewayError('INVALID_KEY', 'The key is not valid: its tenant is not served here.');
      return refusedOf(call, identity, error);
    }
    const { scansPerMonth } = tenant.plan;
    if (scansPerMonth !== null)
      this.#tellUsage(tenant.id, call.receivedAtMs, admission.scansUsed, scansPerMonth);
    const isDegraded = 'isDegraded' in admission;
    return new AdmittedCall(call, {
      tenant,
      identity: admission.identity,
      agentStatus: admission.agentStatus,
      // The state has not counted a call that was let through without it.
      outcome: isDegraded ? 'refused' : 'call',
      isDegraded,
      scopeViolations: admission.scopeViolations,
      exceededBudgets: admission.exceededBudgets,
      charges: admission.charges,
      toolConcerns: admission.toolConcerns,
      history: historyOf(call, admission, trust),
    });
  }

  /** Tells of used quota. Each count is given to one call alone, and that call tells of it. */
  #tellUsage(tenantId: string, atMs: number, used: number, quota: number): void {
    const percent = alertAt(used, quota);
    if (percent !== undefined) this.#options.events.tellUsage({ tenantId, atMs, percent, used, quota });
  }

  /**
   * Returns the refusal of a body that is too large; undefined where it is not. It asks the state whose limit
   * counts, and only for a body too large for some tenant. A stranger is not told of it.
   */
  async #tooLargeCall(
    call: ClassifiedCall,
    { keyHash, nowMs }: AdmitRequest,
  ): Promise<RefusedCall | undefined> {
    const { store, tenants, catalogues, toolSettings } = this.#options;
    const { body, target, operation } = call;
    const holder = await identifyOrRecall({ store, tenants }, keyHash, nowMs);
    if (!holder.ok || !isAddressAllowed(holder, call.clientAddress)) return undefined;
    const { tenantId } = holder.identity;
    if (!(await tenants.learn(tenantId))) return undefined;
    const toolMax = toolSettings.maxBodyBytes(tenantId, operation.toolName);
    const said = least(call.received.bodyBytesMax, toolMax);
    const bytesMax = said ?? unsaidBytesMax({ tenants, catalogues }, tenantId, target);
    return body.length > bytesMax
      ? refusedOf(call, holder.identity, tooLarge(body.length, bytesMax))
      : undefined;
  }
}

function historyOf(call: ClassifiedCall, admission: Admitted, trust: TrustTerms): CallHistory {
  const { newNames, habits, trust: standing, sightings, isNewDestination } = admission;
  const [host, tool, operation] = newNames.length > 0 ? touchedNamesOf(call) : [];
  const isNew = (name: string | undefined): boolean => name !== undefined && newNames.includes(name);
  return {
    isNewDestination,
    isNewHost: isNew(host),
    isNewOperation: isNew(operation) && tool !== undefined && !isNew(tool),
    newNames,
    habits,
    trustScore: trustPartsAt(standing, call.receivedAtMs, trust) / trustPartsMax,
    trustMarks: standing.marks,
    sightings,
  };
}

/** Returns the refusal of a call that may not be made, with what is known of its caller. */
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
 * Returns the operations that the scope of a key is checked against. Tools are named by the catalogue and the
 * configuration, never by a caller.
 */
export const doneBy = (operation: Operation): Pick<AdmitRequest, 'toolName' | 'verb' | 'parts'> => ({
  toolName: ownName(operation.toolName),
  verb: operation.verb,
  ...(operation.parts || operation.unclear ? { parts: allOf(operation) } : {}),
});

/**
 * Returns the number of changes that a call makes. A POST to a host without a tool need not change anything,
 * and counts as none.
 */
function mutationsOf({ toolName, verb, parts }: Operation): number {
  if (verb === 'READ' || toolName === 'custom_proxy') return 0;
  return Math.max(1, parts?.filter((it) => it.operation.verb !== 'READ').length ?? 1);
}

/** Returns all that the call does. Where nobody can tell, that is all it may do. */
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
