import type { TenantConfig } from '../config/schema.ts';
import type { Call, DataClass, Finding } from '../core/call.ts';
import type { AnswerReading } from '../decision/answers/read-answer.ts';
import { toResponseScan } from '../decision/answers/response-scan.ts';
import type { Gate } from '../decision/gate.ts';
import { type FieldPlace, type FieldsText, fieldAt, fieldsText } from '../inspect/boundary/answer-fields.ts';
import { isCutFor } from '../inspect/parts/sanitize.ts';
import { redact } from '../inspect/redact/redact.ts';
import { classesToCut, toldRedactions, unsanitizable, whyNotLetIn } from './answer-rules.ts';

/* The header fields of an answer and its trailers, which come in by the rules for its body. */

export interface FieldsOf {
  readonly call: Call;
  readonly tenant: TenantConfig;
  readonly part: 'head' | 'trailers';
  /** The status of the answer. */
  readonly status: number;
}

export interface AdmittedFields {
  /** Why they must not come in, and nothing of the answer; empty where they may. */
  readonly reasons: readonly string[];
  /** The classes that were cut out of the fields. */
  readonly cuts: readonly DataClass[];
  /** Flat; the same list where nothing was cut. */
  readonly fields: readonly string[];
}

/** They say what the answer is or where it leads: with a part cut out they would say something else. */
const fixedFields =
  /^(?:content-(?:type|encoding|length|range|location)|transfer-encoding|grpc-(?:status|encoding)|location|refresh|sec-websocket-.*)$/;
/** gRPC writes such fields in base64. */
const isBinary = (name: string): boolean => name.endsWith('-bin');

/** Reads fields that may come in whatever is found in them; what is, is kept with the trace. Never throws. */
export function observeFields(gate: Gate, of: FieldsOf, fields: readonly string[]): void {
  try {
    const { identity, target } = of.call;
    const from = { ownPrefix: gate.names.requestPrefix, host: target.host };
    const reading = identity && gate.answerReader.readNewFields(identity, fields, from);
    if (reading) tell(gate, of, reading, {});
  } catch (error) {
    gate.log.error({ trace_id: of.call.traceId, err: error }, 'the head of an answer could not be read');
  }
}

/** The header or trailer fields that come in under `enforce`. Throws where they cannot be read. */
export function admitFields(gate: Gate, of: FieldsOf, fields: readonly string[]): AdmittedFields {
  const text = fieldsText(fields, gate.names.requestPrefix);
  const reading = readingOf(gate, of, text);
  const asTheyCame = { reasons: none, cuts: none, fields };
  if (!reading) return asTheyCame;
  const reasons = whyNotLetIn(of.tenant, reading, false);
  const cuts = reasons.length > 0 ? none : classesToCut(of.tenant, of.call, reading.classes);
  const cutOut = cuts.length === 0 ? fields : withoutFound(fields, text, reading.findings, cuts);
  const isCut = cutOut !== undefined && !stillShows(gate, of, cutOut, cuts);
  const why = isCut ? reasons : unsanitizable(cuts);
  tell(gate, of, reading, {
    ...(why.length > 0 ? { blocked: why } : {}),
    ...(why.length === 0 && cuts.length > 0 ? { redacted: toldRedactions(reading.findings, cuts) } : {}),
  });
  return why.length > 0
    ? { ...asTheyCame, reasons: why, cuts }
    : { reasons: why, cuts, fields: cutOut ?? none };
}

function readingOf(gate: Gate, { call }: FieldsOf, text: FieldsText): AnswerReading | undefined {
  const { identity, target } = call;
  if (!identity || text.text === '') return undefined;
  return gate.answerReader.readFields(identity, text, target.host);
}

const stillShows = (
  gate: Gate,
  of: FieldsOf,
  fields: readonly string[],
  cuts: readonly DataClass[],
): boolean =>
  cuts.length > 0 &&
  (readingOf(gate, of, fieldsText(fields, gate.names.requestPrefix))?.classes.some((it) =>
    cuts.includes(it),
  ) ??
    false);

/**
 * The fields without these findings. One goes as a whole where more than its value would have to be cut, or where it is base64 of bytes.
 * Undefined where it must neither be cut nor go.
 */
function withoutFound(
  fields: readonly string[],
  text: FieldsText,
  findings: readonly Finding[],
  classes: readonly DataClass[],
): readonly string[] | undefined {
  const isCut = isCutFor(classes);
  const spans = findings.filter(isCut);
  const kept = [...fields];
  const dropped = new Set<number>();
  for (const place of touchedBy(spans, text)) {
    const { at, name, start, valueStart, end } = place;
    if (fixedFields.test(name)) return undefined;
    const own = spans.filter((it) => it.start < end && start < it.end);
    if (isBinary(name) || own.some((it) => it.start < valueStart || it.end > end)) dropped.add(at);
    else {
      const value = Buffer.from(text.text.slice(valueStart, end), 'latin1');
      const cuts = own.map((it) => ({
        start: it.start - valueStart,
        end: it.end - valueStart,
        label: it.kind,
      }));
      kept[at + 1] = redact(value, cuts).bytes.toString('latin1');
    }
  }
  return dropped.size === 0 ? kept : kept.filter((_, at) => !dropped.has(at & ~1));
}

function touchedBy(spans: readonly Finding[], text: FieldsText): Set<FieldPlace> {
  const touched = new Set<FieldPlace>();
  for (const { start, end } of spans) {
    const first = fieldAt(text, start);
    if (first && start < first.end) touched.add(first);
    for (const it of text.places) if (it.start < end && start < it.end) touched.add(it);
  }
  return touched;
}

interface Told {
  readonly blocked?: readonly string[];
  readonly redacted?: ReturnType<typeof toldRedactions>;
}

function tell(
  gate: Gate,
  { call, tenant, part, status }: FieldsOf,
  reading: AnswerReading,
  told: Told,
): void {
  const { classes, injection } = reading;
  if (classes.length === 0 && !injection.detected && !told.blocked) return;
  const scan = toResponseScan(gate, tenant.id, reading, Date.now());
  const kept = { ...scan, part, response_status: status, ...told };
  gate.answers.take(tenant.id, call.traceId, JSON.stringify(kept));
}

const none: readonly never[] = Object.freeze([]);
