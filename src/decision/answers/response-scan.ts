import type { Gate } from '../gate.ts';
import type { AnswerReading } from './read-answer.ts';

/** Describes an answer for its trace and for the API, with none of its text. */
export function toResponseScan(
  gate: Pick<Gate, 'fingerprint'>,
  tenantId: string,
  { classes, places, plain, injection }: AnswerReading,
  nowMs: number,
) {
  return {
    /** The time of the scan in ISO 8601, in UTC. */
    at: new Date(nowMs).toISOString(),
    data_classes: [...classes],
    fields_redacted_count: places,
    content_fingerprint: gate.fingerprint(tenantId, plain),
    injection: { ...injection, findings: [...injection.findings] },
  };
}
