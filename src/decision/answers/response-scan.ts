import type { DataClass } from '../../core/call.ts';
import type { PromptInjection } from '../../inspect/boundary/answer-injection.ts';
import type { Gate } from '../gate.ts';
import type { AnswerReading } from './read-answer.ts';

/** Describes an answer in its trace and in the API, with none of its text. */
interface ResponseScan {
  /** ISO 8601 in UTC. */
  readonly at: string;
  readonly data_classes: DataClass[];
  readonly fields_redacted_count: number;
  readonly content_fingerprint: string;
  readonly injection: { detected: boolean; score: number; findings: PromptInjection['findings'][number][] };
}

export function toResponseScan(
  gate: Pick<Gate, 'fingerprint'>,
  tenantId: string,
  { classes, places, plain, injection }: AnswerReading,
  nowMs: number,
): ResponseScan {
  return {
    at: new Date(nowMs).toISOString(),
    data_classes: [...classes],
    fields_redacted_count: places,
    content_fingerprint: gate.fingerprint(tenantId, plain),
    injection: { ...injection, findings: [...injection.findings] },
  };
}
