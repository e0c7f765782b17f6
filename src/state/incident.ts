import { GatewayError } from '../errors.ts';
import type { AuditEvent, IncidentChange, IncidentRecord } from './store.ts';

/* What becomes of incidents. Pure, and the same for every driver. */

/** Of one tenant, the newest. */
export const incidentsMax = 10_000;

const tracesMax = 100;
const notesMax = 100;

/** An incident that is not closed takes in the traces of another one with the same cause. */
export const withTraces = (
  before: IncidentRecord,
  { traceIds, traceCount, openedAtMs }: IncidentRecord,
): IncidentRecord => ({
  ...before,
  traceIds: [...before.traceIds, ...traceIds].slice(-tracesMax),
  traceCount: before.traceCount + traceCount,
  changedAtMs: Math.max(before.changedAtMs, openedAtMs),
});

/** When and by whom is what the audit entry says. Throws CONFLICT where the incident has left `expectedStatus`. */
export function withChange(
  before: IncidentRecord,
  expectedStatus: IncidentRecord['status'],
  change: IncidentChange,
  { atMs, operator }: AuditEvent,
): IncidentRecord {
  if (before.status !== expectedStatus)
    throw new GatewayError('CONFLICT', `The incident is ${before.status} meanwhile.`);
  const { note, ...fields } = change;
  const isClosing = change.status === 'closed' && before.status !== 'closed';
  const isReopening = change.status !== undefined && change.status !== 'closed' && before.status === 'closed';
  return {
    ...before,
    ...(isReopening ? { closedAtMs: null, closedBy: null, closeCode: null } : {}),
    ...fields,
    ...(isClosing ? { closedAtMs: atMs, closedBy: operator } : {}),
    changedAtMs: atMs,
    notes: note ? [...before.notes, note].slice(-notesMax) : before.notes,
  };
}
