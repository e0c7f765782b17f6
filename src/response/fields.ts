import type { DataClass, Finding } from '../core/call.ts';
import { type FieldPlace, type FieldsText, fieldAt } from '../inspect/boundary/answer-fields.ts';
import { isCutFor } from '../inspect/parts/sanitize.ts';
import { redact } from '../inspect/redact/redact.ts';

/* Header fields of an answer, or its trailers, as one text that is read and cut. */

/** Matches fields that say what the answer is or where it leads: with a cut they would say another thing. */
const fixedFields =
  /^(?:content-(?:type|encoding|length|range|location)|transfer-encoding|grpc-(?:status|encoding)|location|refresh|sec-websocket-.*)$/;
/** Tells whether gRPC writes the values of a field in base64. */
const isBinary = (name: string): boolean => name.endsWith('-bin');

/**
 * Cuts the findings of these classes out of a flat list of fields. A field is removed as a whole where more
 * than its value would have to be cut, or where it is base64 of bytes. Returns undefined where a field must
 * neither be cut nor removed.
 */
export function fieldsWithout(
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
