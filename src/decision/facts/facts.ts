import { overridingMethods } from '../../catalogue/overriding-method.ts';
import type { TenantConfig } from '../../config/schema.ts';
import type {
  AssessedCall,
  BodyValue,
  ContentClass,
  DataClass,
  Operation,
  OperationPart,
  OwnAgent,
  SignalName,
} from '../../core/call.ts';
import type { Target } from '../../core/target.ts';
import type { BodyFacts, Facts } from '../../policy/index.ts';
import { isVolumeBurst } from '../../risk/signals/volume-burst.ts';
import { isExternal } from '../../tenants/external.ts';
import { toRequest } from '../request.ts';
import { thatCount } from '../verdict.ts';
import { bodyFields, mayHideNames } from './body.ts';

class CallBody implements BodyFacts {
  readonly bytes: number;
  readonly wordsFound: BodyFacts['wordsFound'];
  readonly #call: AssessedCall<TenantConfig>;
  readonly #ofPart: BodyValue | undefined;

  constructor(call: AssessedCall<TenantConfig>, part: OperationPart | undefined) {
    this.bytes = call.body.length;
    this.wordsFound = call.inspection.wordsFound;
    this.#call = call;
    this.#ofPart = part?.body;
  }

  value(): BodyValue {
    return this.#ofPart ?? bodyFields(this.#call.received, this.#call.tenant.maxDecodedBytes);
  }

  get texts(): readonly Buffer[] {
    return this.#call.inspection.bodyTexts;
  }

  get hidesNames(): boolean {
    return mayHideNames(this.#call.received, this.#call.tenant.maxDecodedBytes);
  }
}

/** Returns the facts of a body of which nothing but the size may count. */
export const noBody = (bytes: number): BodyFacts => ({
  ...{ bytes, texts: [], hidesNames: false },
  value: () => ({ kind: 'none' }),
});

/**
 * Holds the facts of a call that policies may ask for. Costly ones are computed when the first rule asks. It
 * is a class, because getters of an object literal would be made anew for each call, at twenty times the
 * cost.
 */
export class CallFacts implements Facts {
  readonly envName: string;
  readonly operation: Operation;
  readonly method: string;
  readonly overridingMethods: readonly string[];
  readonly target: Target;
  readonly agentId: string;
  readonly runtimeType: string | undefined;
  readonly ownAgent: OwnAgent;
  readonly nowMs: number;
  readonly classes: readonly ContentClass[];
  readonly riskScore: number;
  readonly body: BodyFacts;
  readonly isNewDestination: boolean;
  readonly isVolumeBurst: boolean;
  readonly threatIntelMatch: boolean;
  readonly trustScore: number;
  readonly #call: AssessedCall<TenantConfig>;

  /** Takes the facts of one `part` of the call, where it has several. */
  constructor(call: AssessedCall<TenantConfig>, classes: readonly DataClass[], part?: OperationPart) {
    const { received, identity, history, inspection } = call;
    this.envName = identity.envName;
    this.operation = part?.operation ?? call.operation;
    this.method = part?.method ?? call.method;
    this.overridingMethods = overridingMethods(toRequest(received, call.tenant.maxDecodedBytes));
    this.target = part?.target ?? call.target;
    this.agentId = identity.agentId;
    this.runtimeType = received.claimed.runtimeType;
    this.ownAgent = identity.ownAgent;
    this.nowMs = call.receivedAtMs;
    this.classes = inspection.opaque.length === 0 ? classes : [...classes, 'OPAQUE_CONTENT'];
    this.riskScore = call.risk.score;
    this.body = new CallBody(call, part);
    this.isNewDestination = history.isNewDestination;
    this.isVolumeBurst = isVolumeBurst(history.habits);
    this.trustScore = history.trustScore;
    this.threatIntelMatch = call.evidence.threats.length > 0;
    this.#call = call;
  }

  get detectors(): readonly string[] {
    return thatCount(this.#call).map(({ kind }) => kind);
  }

  get signals(): readonly SignalName[] {
    return this.#call.signals.map(({ name }) => name);
  }

  get isExternalPrincipal(): boolean {
    return isExternal(this.operation, this.target, this.#call.tenant);
  }

  /** Tells whether a budget was used up when the call was admitted. The charges of the call do not count. */
  isBudgetExceeded(name: string): boolean {
    return this.#call.admission.exceededBudgets.includes(name);
  }
}
