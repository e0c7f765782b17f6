import {
  type AgentStatus,
  type CallAdmission,
  type CallDecision,
  type CredentialMarks,
  type Identity,
  type Inspection,
  noMarks,
  type Outcome,
  type RiskEvidence,
} from './call-facts.ts';
import type { Finding } from './finding.ts';
import type { CallHistory } from './history.ts';
import type { Operation } from './operation.ts';
import type { BodyReadings, Entrance, MessageOf, PresentedKey, ReceivedCall } from './received-call.ts';
import type { NameReader } from './safe-name.ts';
import type { Target } from './target.ts';
import type { IncidentCause, Risk, Signal, Verdict } from './verdict.ts';

export * from './call-facts.ts';
export * from './finding.ts';
export * from './operation.ts';
export * from './received-call.ts';
export * from './verdict.ts';

/*
 * The states of a call. An agent makes a call through an entrance. Each stage takes it in one state and
 * returns it in the next: `ReceivedCall`, `ClassifiedCall`, `AdmittedCall`, `InspectedCall`, `AssessedCall`,
 * `DecidedCall`. A state holds the groups of facts that its stages have found out. A stage that needs a group
 * takes no call without it. Nothing is copied but references to groups. Live calls, messages of open calls,
 * and simulated and recorded ones all go through these constructors.
 */

/** Holds the facts of the request, which every later state tells as well. */
abstract class CallState {
  readonly received: ReceivedCall;

  constructor(received: ReceivedCall) {
    this.received = received;
  }

  get traceId(): string {
    return this.received.traceId;
  }

  get entrance(): Entrance {
    return this.received.entrance;
  }

  get receivedAtMs(): number {
    return this.received.receivedAtMs;
  }

  get clientAddress(): string {
    return this.received.clientAddress;
  }

  get key(): PresentedKey | undefined {
    return this.received.key;
  }

  get method(): string {
    return this.received.method;
  }

  get target(): Target {
    return this.received.target;
  }

  get headers(): readonly string[] {
    return this.received.headers;
  }

  get body(): Buffer {
    return this.received.body;
  }

  get contentType(): string {
    return this.received.contentType;
  }

  get message(): MessageOf | undefined {
    return this.received.message;
  }

  get readings(): BodyReadings {
    return this.received.readings;
  }

  /**
   * Tells whether the call could not be read, or read again, because the time was over or a thread had ended.
   */
  get isOutOfTime(): boolean {
    return this.received.readings.isOutOfTime;
  }

  /** Returns the body without its content coding, as far as that was taken off. */
  get plainBody(): Buffer {
    return this.received.readings.plain ?? this.received.body;
  }
}

/**
 * Holds a call whose operation is known. The catalogue has named its tool, operation and resource, or the
 * entrance knew them.
 */
export class ClassifiedCall extends CallState {
  readonly operation: Operation;
  /** The resource or host that the call touches. The rule condition `is_new_destination` counts it. */
  readonly destination: string;

  constructor(received: ReceivedCall, operation: Operation, destination: string) {
    super(received);
    this.operation = operation;
    this.destination = destination;
  }
}

/** Holds a call whose caller is known, with the state's answer about it. */
export class AdmittedCall<Tenant = unknown> extends ClassifiedCall {
  readonly admission: CallAdmission<Tenant>;

  constructor(call: ClassifiedCall, admission: CallAdmission<Tenant>) {
    super(call.received, call.operation, call.destination);
    this.admission = admission;
  }

  get tenant(): Tenant {
    return this.admission.tenant;
  }

  get identity(): Identity {
    return this.admission.identity;
  }

  /** Tells whether the state is away and the call goes on with what was known of its key and tenant. */
  get isDegraded(): boolean {
    return this.admission.isDegraded;
  }

  get history(): CallHistory {
    return this.admission.history;
  }
}

/** Holds a call that was read for findings. */
export class InspectedCall<Tenant = unknown> extends AdmittedCall<Tenant> {
  readonly inspection: Inspection;
  readonly marks: CredentialMarks;

  constructor(
    call: AdmittedCall<Tenant>,
    inspection: Inspection,
    marks: CredentialMarks = noMarks(inspection),
  ) {
    super(call, call.admission);
    this.inspection = inspection;
    this.marks = marks;
  }

  /** Returns the findings with credentials at home marked as such. */
  get findings(): readonly Finding[] {
    return this.marks.findings;
  }

  get safeName(): NameReader {
    return this.inspection.safeName;
  }

  get head(): Buffer {
    return this.inspection.head;
  }
}

/** Holds a call whose risk is known. */
export class AssessedCall<Tenant = unknown> extends InspectedCall<Tenant> {
  readonly evidence: RiskEvidence;
  readonly risk: Risk;

  constructor(call: InspectedCall<Tenant>, evidence: RiskEvidence, risk: Risk) {
    super(call, call.inspection, call.marks);
    this.evidence = evidence;
    this.risk = risk;
  }

  get signals(): readonly Signal[] {
    return this.risk.signals;
  }

  /** Returns the same call, for an agent whose status has changed while the call was held. */
  withAgentStatus(agentStatus: AgentStatus): AssessedCall<Tenant> {
    const admitted = new AdmittedCall<Tenant>(this, { ...this.admission, agentStatus });
    return new AssessedCall(
      new InspectedCall(admitted, this.inspection, this.marks),
      this.evidence,
      this.risk,
    );
  }
}

/** Holds a call in its last state, with its verdict. */
export class DecidedCall<Tenant = unknown> extends AssessedCall<Tenant> {
  readonly verdict: Verdict;
  readonly isMonitored: boolean;
  readonly incidents: readonly IncidentCause[];

  constructor(call: AssessedCall<Tenant>, { verdict, isMonitored, incidents }: CallDecision) {
    super(call, call.evidence, call.risk);
    this.verdict = verdict;
    this.isMonitored = isMonitored;
    this.incidents = incidents;
  }
}

/** A call before admission, in either of its two states: an entrance may know what the call does. */
export type UnadmittedCall = ReceivedCall | ClassifiedCall;

/** A call as far as it came, of which a record can be made. Every state of a call fits this type. */
export interface CallSoFar {
  readonly received: ReceivedCall;
  readonly operation?: Operation;
  readonly destination?: string;
  readonly identity?: Identity;
  readonly outcome?: Outcome;
  readonly admission?: CallAdmission;
  readonly inspection?: Inspection;
  readonly marks?: CredentialMarks;
  readonly evidence?: RiskEvidence;
  readonly risk?: Risk;
  readonly verdict?: Verdict;
  readonly isMonitored?: boolean;
  readonly incidents?: readonly IncidentCause[];
}

export const soFar = (call: UnadmittedCall): CallSoFar =>
  call instanceof ClassifiedCall ? call : { received: call };
