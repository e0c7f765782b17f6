import { type CallSoFar, DecidedCall, type Identity, type IncidentCause } from '../../core/call.ts';
import { type GatewayError, stateUnavailable } from '../../core/errors.ts';
import { sizeClassOf, type TrustMark } from '../../core/history.ts';
import type { Log } from '../../core/log.ts';
import { type NameReader, ownName, type SafeName, safely } from '../../core/safe-name.ts';
import type { Credentials } from '../../credentials/credentials.ts';
import { keptDestination, mayBeKept } from '../../risk/signals/redacted-destination.ts';
import type { Journal } from '../../state/journal.ts';
import { lostWithinHour } from '../../state/rules/trust.ts';
import type { MaybePromise, RecordedCall, Store } from '../../state/store.ts';
import type { IncidentDesk } from '../approvals/incident-desk.ts';
import { sightingsOf } from '../facts/seen.ts';
import { type TrustLosses, toParts, trustLossOf } from '../facts/trust-loss.ts';
import type { Recorder } from '../pipeline.ts';
import type { DescribeRefused, RefusedDescription } from './describe-refused.ts';
import { shownOperation } from './safe-names.ts';
import { isOfOperation } from './touched-names.ts';
import { type TracedCall, traceLine } from './trace-line.ts';

interface RecorderOptions {
  readonly journal: Pick<Journal, 'append' | 'flush'>;
  readonly store: Pick<Store, 'noteCall' | 'noteSighting'>;
  readonly trustLosses: TrustLosses;
  readonly credentials: Pick<Credentials, 'nameFor'>;
  readonly incidents: Pick<IncidentDesk, 'take'>;
  /** Returns the reader of names for calls that were refused before anything of them was read. */
  readonly namesFor: (tenantId: string) => NameReader;
  readonly log: Log;
  readonly describeRefused: DescribeRefused;
}

/**
 * Creates the function that leaves the trace of a call in the journal, before its answer is known to anybody.
 * A call that cannot be recorded is not let out. Refused calls are recorded, too, once it is known whose key
 * was used.
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

/** Tells whether a request goes out for the call. A further message of an open call has none of its own. */
const isLetOut = ({ entrance, verdict, message }: DecidedCall): boolean =>
  message === undefined &&
  (entrance === 'forward' || entrance === 'inbound') &&
  (verdict.decision === 'ALLOW' || verdict.decision === 'SANITIZE');

const nothingToRecord = Promise.resolve();
const noBytes = Buffer.alloc(0);

/** The loss of trust within an hour above which an incident is opened. */
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

/**
 * Returns the new names by which the agent's actions are recognised later. Names with findings of the call
 * are left out.
 */
function keptNames(call: TracedCall): readonly SafeName[] {
  const { operation } = call;
  const newNames = call.admission?.history.newNames ?? none;
  if (newNames.length === 0) return none;
  const isShown = operation === undefined || shownOperation(call, operation) === operation.name;
  return newNames.filter((it) => (isShown || !isOfOperation(it)) && mayBeKept(call, it)).map(ownName);
}

const none: readonly never[] = Object.freeze([]);
