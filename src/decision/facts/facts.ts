import { overridingMethods } from '../../catalogue/overriding-method.ts';
import type { TenantConfig } from '../../config/schema.ts';
import type {
  BodyValue,
  Call,
  ContentClass,
  DataClass,
  Operation,
  OperationPart,
  OwnAgent,
} from '../../core/call.ts';
import type { Target } from '../../core/target.ts';
import type { Facts } from '../../policy/index.ts';
import { isVolumeBurst } from '../../risk/signals/volume-burst.ts';
import { isExternal } from '../../tenants/external.ts';
import { toRequest } from '../request.ts';
import { bodyValue, mayHideNames } from './body.ts';

/** The facts of a call that policies may ask for. Dear ones are computed when the first rule asks. */
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
  readonly bodyBytes: number;
  readonly wordsFound: Facts['wordsFound'];
  readonly isNewDestination: boolean;
  readonly isVolumeBurst: boolean;
  readonly threatIntelMatch: boolean;
  readonly trustScore: number;
  readonly #call: Call;
  readonly #tenant: TenantConfig;
  readonly #body: BodyValue | undefined;

  /** Takes one `part` of the call, where it has several. */
  constructor(call: Call, classes: readonly DataClass[], tenant: TenantConfig, part?: OperationPart) {
    if (!call.operation || !call.identity)
      throw new Error('facts need a call that was identified and understood');
    this.envName = call.identity.envName;
    this.operation = part?.operation ?? call.operation;
    this.method = part?.method ?? call.method;
    this.overridingMethods = overridingMethods(toRequest(call, tenant.maxDecodedBytes));
    this.target = part?.target ?? call.target;
    this.#body = part?.body;
    this.agentId = call.identity.agentId;
    this.runtimeType = call.claimed.runtimeType;
    this.ownAgent = call.identity.ownAgent;
    this.nowMs = call.receivedAtMs;
    this.classes = call.opaque.length === 0 ? classes : [...classes, 'OPAQUE_CONTENT'];
    this.riskScore = call.riskScore;
    this.bodyBytes = call.body.length;
    this.wordsFound = call.wordsFound;
    this.isNewDestination = call.isNewDestination;
    this.isVolumeBurst = isVolumeBurst(call.habits);
    this.trustScore = call.trustScore;
    this.threatIntelMatch = call.threats.length > 0;
    this.#call = call;
    this.#tenant = tenant;
  }

  bodyValue(): BodyValue {
    return this.#body ?? bodyValue(this.#call, this.#tenant.maxDecodedBytes);
  }

  get bodyTexts(): readonly Buffer[] {
    return this.#call.bodyTexts;
  }

  get bodyHidesNames(): boolean {
    return mayHideNames(this.#call, this.#tenant.maxDecodedBytes);
  }

  get isExternalPrincipal(): boolean {
    return isExternal(this.operation, this.target, this.#tenant);
  }

  /** The budget as it was when the call was admitted, without its own charges. */
  isBudgetExceeded(name: string): boolean {
    return this.#call.exceededBudgets.includes(name);
  }
}
