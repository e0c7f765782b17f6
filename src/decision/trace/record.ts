import {
  type CallSoFar,
  DecidedCall,
  type Finding,
  type Identity,
  type IncidentCause,
  type Inspection,
  type MatchedRule,
  type NamedCall,
  type OperationPart,
  type ReceivedCall,
  type Risk,
  type Signal,
  type Verdict,
} from '../../core/call.ts';
import { type GatewayError, stateUnavailable } from '../../core/errors.ts';
import { sizeClassOf, type TrustMark } from '../../core/history.ts';
import type { Log } from '../../core/log.ts';
import { type NameReader, ownName, type SafeName, safely } from '../../core/safe-name.ts';
import type { Credentials } from '../../credentials/credentials.ts';
import { keptDestination, mayBeKept } from '../../risk/signals/redacted-destination.ts';
import type { Journal } from '../../state/journal.ts';
import { lostWithinHour } from '../../state/rules/trust.ts';
import type { MaybePromise, RecordedCall, Store } from '../../state/store.ts';
import { bySecond } from '../../util/by-second.ts';
import { fieldOf } from '../../wire/http1/headers.ts';
import type { IncidentDesk } from '../approvals/incident-desk.ts';
import { excuseOf } from '../excuse.ts';
import { sightingsOf } from '../facts/seen.ts';
import { type TrustLosses, toParts, trustLossOf } from '../facts/trust-loss.ts';
import type { Recorder } from '../pipeline.ts';
import type { DescribeRefused, RefusedDescription } from './describe-refused.ts';
import { redactedMethod, redactedUrl } from './redacted.ts';
import { shownOperation, shownOperationOf, shownPart } from './safe-names.ts';
import { isOfOperation } from './touched-names.ts';

/** That one trace names. */
export const recordedFindingsMax = 50;

interface RecorderOptions {
  readonly journal: Pick<Journal, 'append' | 'flush'>;
  readonly store: Pick<Store, 'noteCall' | 'noteSighting'>;
  readonly trustLosses: TrustLosses;
  readonly credentials: Pick<Credentials, 'nameFor'>;
  readonly incidents: Pick<IncidentDesk, 'take'>;
  /** Reads the names of calls that were refused before anything of them was read. */
  readonly namesFor: (tenantId: string) => NameReader;
  readonly log: Log;
  readonly describeRefused: DescribeRefused;
}

/**
 * Leaves the trace of a call in the journal, before its answer is known to anybody. A call that cannot be
 * recorded is not let out. Refused calls are recorded too, once it is known whose key was used.
 */
export function createRecorder({
  journal,
  store,
  incidents,
  log,
  trustLosses,
  credentials,
  describeRefused,
  namesFor,
}: RecorderOptions): Recorder {
  const unrecorded = (call: RecordedCall, cause: unknown): never => {
    store.noteCall({ ...call, decision: 'DENY' });
    log.error({ trace_id: call.traceId, err: cause }, 'a call cannot be recorded');
    throw stateUnavailable('The call cannot be recorded, so it is not let out.', cause);
  };
  const shipped = (): Promise<void> => journal.flush();
  return function record(call, refusal) {
    if (call instanceof DecidedCall) return writeDecided(call);
    const identity = call.admission?.identity ?? call.identity;
    if (!identity || !refusal) return nothingToRecord;
    const described: MaybePromise<RefusedDescription | undefined> = describeRefused(call, identity);
    const write = (it: RefusedDescription | undefined) => writeRefused(call, identity, refusal, it);
    return described instanceof Promise ? described.then(write) : write(described);
  };

  function writeDecided(decided: DecidedCall): Promise<void> {
    const marks = trustLossOf(decided, trustLosses);
    const call = isTrustDrop(decided, marks) ? withIncident(decided, trustDrop) : decided;
    const names = keptNames(call);
    const credential = isLetOut(call) ? credentials.nameFor(call) : undefined;
    const recorded = toRecorded(call, traceLine(call, undefined, credential), call.verdict.decision);
    recorded.outcome = call.admission.outcome;
    if (names.length > 0) recorded.names = names;
    if (marks.length > 0) recorded.marks = marks;
    if (call.admission.charges.length > 0) recorded.charges = call.admission.charges;
    if (credential !== undefined) recorded.credential = credential;
    return append(recorded, () => {
      for (const sighting of sightingsOf(call)) store.noteSighting(recorded.tenantId, sighting);
      if (call.incidents.length > 0 || call.verdict.decision === 'DENY') incidents.take(call, shipped);
    });
  }

  function writeRefused(
    refused: CallSoFar,
    identity: Identity,
    refusal: GatewayError,
    description: RefusedDescription | undefined,
  ): Promise<void> {
    const { traceId } = refused.received;
    refusal.traceId = traceId;
    if (refusal.code === 'INTERNAL') log.error({ trace_id: traceId, err: refusal.cause }, 'a call failed');
    const call = toRefused(refused, identity, description, namesFor);
    const recorded = toRecorded(call, traceLine(call, refusal), 'DENY');
    const { outcome = 'refused', charges = none } = refused.admission ?? { outcome: refused.outcome };
    recorded.outcome = outcome;
    const names = keptNames(call);
    if (names.length > 0) recorded.names = names;
    if (charges.length > 0) recorded.charges = charges;
    return append(recorded, () => {
      if (call.incidents && call.incidents.length > 0) incidents.take(call, shipped);
    });
  }

  function append(recorded: RecordedCall, then: () => void): Promise<void> {
    return journal.append(recorded).then(
      () => {
        store.noteCall(recorded);
        then();
      },
      (cause: unknown) => unrecorded(recorded, cause),
    );
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A call of which a trace can be written: decided, or refused with what is known of it. */
interface TracedCall extends NamedCall {
  readonly identity: Identity;
  readonly admission?: CallSoFar['admission'];
  readonly inspection?: Pick<Inspection, 'agentName' | 'runtimeType'>;
  readonly risk?: Risk;
  readonly verdict?: Verdict;
  readonly incidents?: readonly IncidentCause[];
}

function toRefused(
  { received, inspection, marks, ...known }: CallSoFar,
  identity: Identity,
  description: RefusedDescription | undefined,
  namesFor: RecorderOptions['namesFor'],
): TracedCall {
  return {
    received,
    identity,
    operation: description?.operation ?? known.operation,
    destination: description?.destination ?? known.destination ?? '',
    head: description?.head ?? inspection?.head ?? noBytes,
    findings: description?.findings ?? marks?.findings ?? inspection?.findings ?? none,
    safeName: inspection?.safeName ?? namesFor(identity.tenantId),
    ...(inspection && { inspection }),
    ...(known.admission && { admission: known.admission }),
    ...(known.risk && { risk: known.risk }),
    ...(known.incidents && { incidents: known.incidents }),
  };
}

function toRecorded(
  call: TracedCall,
  line: SafeName,
  decision: RecordedCall['decision'],
): Writable<RecordedCall> {
  const { received, identity } = call;
  const recorded: Writable<RecordedCall> = {
    traceId: received.traceId,
    tenantId: identity.tenantId,
    agentId: identity.agentId,
    keyId: identity.keyId,
    atMs: received.receivedAtMs,
    decision,
    outcome: 'refused',
    destination: keptDestination(received.message?.opening ?? call),
    line,
  };
  if (received.body.length > 0) recorded.sizeClass = sizeClassOf(received.body.length);
  return recorded;
}

/** Tells whether a request goes out for it; a further message has none of its own. */
const isLetOut = ({ entrance, verdict, message }: DecidedCall): boolean =>
  message === undefined &&
  (entrance === 'forward' || entrance === 'inbound') &&
  (verdict.decision === 'ALLOW' || verdict.decision === 'SANITIZE');

const nothingToRecord = Promise.resolve();
const noBytes = Buffer.alloc(0);

/** The loss of trust within an hour that is announced. */
const dropMin = 0.3;

const trustDrop: IncidentCause = {
  trigger: safely`trust-drop`,
  title: safely`The agent has lost more than 0.3 of its trust within an hour`,
  severity: 'HIGH',
};

const isTrustDrop = ({ history, receivedAtMs }: DecidedCall, loss: readonly TrustMark[]): boolean =>
  loss.length > 0 && lostWithinHour([...history.trustMarks, ...loss], receivedAtMs) > toParts(dropMin);

const withIncident = (call: DecidedCall, cause: IncidentCause): DecidedCall => {
  const { verdict, isMonitored, incidents } = call;
  return new DecidedCall(call, { verdict, isMonitored, incidents: [...incidents, cause] });
};

/** Findings of a call do not stay in the names by which its agent is known. */
function keptNames(call: TracedCall): readonly SafeName[] {
  const { operation } = call;
  const newNames = call.admission?.history.newNames ?? none;
  if (newNames.length === 0) return none;
  const isShown = operation === undefined || shownOperation(call, operation) === operation.name;
  return newNames.filter((it) => (isShown || !isOfOperation(it)) && mayBeKept(call, it)).map(ownName);
}

const none: readonly never[] = Object.freeze([]);

const json = JSON.stringify;
/** A text whose words a caller may have chosen. */
const shown: (name: SafeName) => string = JSON.stringify;

/**
 * Returns the trace as one line of JSON. It names kinds and places of what was found, never the text. Put
 * together by hand, because every call pays for it: half of what one `JSON.stringify` of the whole costs.
 */
export function traceLine(
  call: TracedCall,
  refusal: GatewayError | undefined,
  credential?: string,
): SafeName {
  const { received, identity, operation, findings, risk = noRisk, verdict } = call;
  const { agentName, runtimeType } = call.inspection ?? unread;
  const { signals } = risk;
  const method = redactedMethod(call);
  let line = `{"trace_id":"${received.traceId}","at":"${toIso(received.receivedAtMs)}",${whoOf(identity)}`;
  const registered = ownName(identity.agentName);
  line += `,"agent_name":${shown(agentName ?? registered)}`;
  if (agentName !== undefined && agentName !== registered) line += `,"registered_name":${shown(registered)}`;
  if (runtimeType !== undefined) line += `,"runtime_type":${shown(runtimeType)}`;
  line += `,"client_address":"${received.clientAddress}","entrance":"${received.entrance}","method":${shown(method)}`;
  line += `,"url":${shown(redactedUrl(received.message?.opening ?? call))},"body_bytes":${received.body.length}`;
  if (received.message) line += `,"message_of":"${received.message.opening.received.traceId}"`;
  if (operation) {
    line += `,"tool_name":${shown(call.safeName(operation.toolName))},"operation":${shown(shownOperationOf(call))}`;
    line += `,"category":${shown(call.safeName(operation.category))},"verb":"${operation.verb}"`;
    if (operation.parts) line += list('parts', partNames(call, operation.parts));
  }
  line += `,"decision":"${verdict?.decision ?? 'DENY'}"`;
  if (verdict?.wouldBe) line += `,"would_be":"${verdict.wouldBe}"`;
  line += `,"risk_score":${risk.score},"risk_band":"${risk.band}"`;
  if (signals.length > 0 || risk.floor > 0 || risk.trustModifier > 0)
    line += `,"risk":{"floor":${risk.floor},"modifier":${risk.trustModifier}}`;
  if (credential !== undefined) line += `,"credential":${json(credential)}`;
  if (refusal) line += refusalFields(received, refusal);
  line += list('reason_codes', refusal ? [refusal.code] : verdict?.reasonCodes);
  if (verdict) line += excuseField(call, verdict);
  line += list('classifications', verdict?.classifications);
  line += list('signals', signals.length === 0 ? signals : signals.map(recordedSignal));
  line += list('tags', verdict?.tags);
  line += list('escalate_to', verdict?.escalateTo);
  line += list('violations', verdict?.violations);
  if (verdict && call.incidents && call.incidents.length > 0)
    line += list(
      'incidents',
      call.incidents.map((it) => it.trigger),
    );
  if (findings.length > 0)
    line += list('findings', findings.slice(0, recordedFindingsMax).map(publicFinding));
  if (verdict && verdict.matchedRules.length > 0)
    line += `,"matched_rules":${json(verdict.matchedRules.map(publicRule))}`;
  if (verdict?.decidedBy) {
    const { policyId, policyName, ruleId } = verdict.decidedBy;
    line += `,"policy_id":"${policyId}","policy_name":${json(policyName)},"rule_id":${json(ruleId)}`;
  }
  const approvalId = verdict?.approval?.approvalId ?? verdict?.byApproval;
  if (approvalId !== undefined) line += `,"approval_id":"${approvalId}"`;
  return ownName(`${line}${list('explanation', verdict?.explanation)}}`);
}

/** The words of a trace where the call was refused before its risk was assessed. */
const noRisk: Risk = {
  ...{ signals: none, score: 0, band: 'LOW', residualBand: 'LOW' },
  ...{ parts: none, trustModifier: 0, floor: 0 },
};
const unread = { agentName: undefined, runtimeType: undefined };

function excuseField({ received, admission }: TracedCall, verdict: Verdict): string {
  const { isOutOfTime } = received.readings;
  const excuse = excuseOf({ isOutOfTime, isDegraded: admission?.isDegraded ?? false }, verdict);
  return excuse ? `,"excuse":"${excuse}"` : '';
}

/** Says why a call was refused, in the words of its answer, and how large it said that it is. */
function refusalFields({ headers }: ReceivedCall, { message, extra }: GatewayError): string {
  const length = fieldOf(headers, 'content-length');
  const declared = /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  let fields = `,"detail":${json(message)}`;
  if (declared !== undefined) fields += `,"declared_bytes":${declared}`;
  if (extra.actual_bytes !== undefined) fields += `,"actual_bytes":${extra.actual_bytes}`;
  if (extra.limit_bytes !== undefined) fields += `,"limit_bytes":${extra.limit_bytes}`;
  return fields;
}

/** Details for the agent alone stand only in its answer. */
const recordedSignal = ({ shown: _, ...signal }: Signal): Signal => signal;

/** Parts that one trace names. */
const recordedPartsMax = 20;

const partNames = (call: NamedCall, parts: readonly OperationPart[]): readonly SafeName[] =>
  [...new Set(parts.map((it) => shownPart(call, it)))].slice(0, recordedPartsMax);

/** A list that says nothing is left out: most calls are clean, and every byte is written several times. */
function list(name: string, values: readonly unknown[] | undefined): string {
  if (!values || values.length === 0) return '';
  // One by one: that of a text takes a shorter way than that of a list.
  let text = '';
  for (const value of values) text += text === '' ? json(value) : `,${json(value)}`;
  return `,"${name}":[${text}]`;
}

const whos = new WeakMap<Identity, string>();

/** The fields of a trace on key and agent, the same for all their calls. */
function whoOf(identity: Identity): string {
  const known = whos.get(identity);
  if (known !== undefined) return known;
  const { tenantId, envName, agentId, keyId, keyPrefix } = identity;
  const who = json({
    tenant_id: tenantId,
    env_name: envName,
    agent_id: agentId,
    key_id: keyId,
    key_prefix: keyPrefix,
  }).slice(1, -1);
  whos.set(identity, who);
  return who;
}

const isoSecond = bySecond((second) => new Date(second * 1000).toISOString().slice(0, 20));

/** ISO 8601 in UTC. Calls of the same second share all but the milliseconds. */
function toIso(ms: number): string {
  const second = Math.floor(ms / 1000);
  return `${isoSecond(second)}${String(ms - second * 1000).padStart(3, '0')}Z`;
}

/** Returns a finding as answers and traces show it. */
export const publicFinding = (it: Finding) => ({
  class: it.class,
  kind: it.kind,
  location: it.location,
  confidence: it.confidence,
});

export const publicRule = (it: MatchedRule): Record<string, unknown> => ({
  policy_id: it.policyId,
  policy_name: it.policyName,
  version: it.version,
  rule_id: it.ruleId,
  action: it.action,
});
