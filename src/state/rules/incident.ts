import { type Band, bands } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import type { AuditEvent, IncidentChange, IncidentRecord, IncidentStep } from '../store.ts';

/* Changes incidents. It is pure, and the same for every driver. */

/** The limit of a tenant's incidents; the newest stay. */
export const incidentsMax = 10_000;

const tracesMax = 100;
const notesMax = 100;
const stepsMax = 100;
/** The author of incidents that nobody has opened by hand. */
export const gateway = 'gateway';

/** Merges another incident of the same cause into an open one, which gets the graver severity. */
export function withTraces(before: IncidentRecord, later: IncidentRecord): IncidentRecord {
  const fresh = later.traceIds.filter((it) => !before.traceIds.includes(it));
  const severity = graver(before.severity, later.severity);
  const by = { atMs: later.openedAtMs, by: later.openedBy ?? gateway };
  return {
    ...before,
    severity,
    traceIds: [...before.traceIds, ...fresh].slice(-tracesMax),
    // A call whose trace is listed already was counted before.
    traceCount: before.traceCount + later.traceCount - (later.traceIds.length - fresh.length),
    changedAtMs: Math.max(before.changedAtMs, later.openedAtMs),
    notes: [...before.notes, ...later.notes].slice(-notesMax),
    ...withSteps(before, severityStep(before, severity, by)),
  };
}

const graver = (a: Band, b: Band): Band => (bands.indexOf(a) < bands.indexOf(b) ? b : a);

type By = Pick<IncidentStep, 'atMs' | 'by'>;

const severityStep = ({ severity: from }: IncidentRecord, to: Band | undefined, by: By): IncidentStep[] =>
  to === undefined || to === from ? [] : [{ kind: 'severity', ...by, from, to }];

const withSteps = (
  { steps = [] }: IncidentRecord,
  more: readonly IncidentStep[],
): Pick<IncidentRecord, 'steps'> =>
  more.length === 0 ? {} : { steps: [...steps, ...more].slice(-stepsMax) };

/**
 * Returns the incident after a change, with time and author from the audit entry. Throws CONFLICT if the
 * incident has left `expectedStatus`.
 */
export function withChange(
  before: IncidentRecord,
  expectedStatus: IncidentRecord['status'],
  change: IncidentChange,
  { atMs, operator }: AuditEvent,
): IncidentRecord {
  const { status: from } = before;
  if (from !== expectedStatus) throw new GatewayError('CONFLICT', `The incident is ${from} meanwhile.`);
  const { note, ...fields } = change;
  const to = change.status ?? from;
  const isClosing = to === 'closed' && from !== 'closed';
  const isReopening = to !== 'closed' && from === 'closed';
  const by = { atMs, by: operator };
  const code = isClosing && change.closeCode ? { code: change.closeCode } : {};
  const transition: IncidentStep[] = to === from ? [] : [{ kind: 'transition', ...by, from, to, ...code }];
  return {
    ...before,
    ...(isReopening ? { closedAtMs: null, closedBy: null, closeCode: null } : {}),
    ...fields,
    ...(isClosing ? { closedAtMs: atMs, closedBy: operator } : {}),
    changedAtMs: atMs,
    notes: note ? [...before.notes, note].slice(-notesMax) : before.notes,
    ...withSteps(before, [...severityStep(before, change.severity, by), ...transition]),
  };
}
