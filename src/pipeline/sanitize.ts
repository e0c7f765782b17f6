import type { Call, DataClass, Finding } from '../call.ts';
import { bodyFormat, redactBody } from '../text/redact.ts';

/** Classes that SANITIZE cuts where the deciding rule names none. */
export const defaultCuts: readonly DataClass[] = ['SECRETS', 'PII', 'PHI'];

/** What counts: found with medium confidence or more, and no credential at its own vendor's place. */
export const counts = (finding: Finding): boolean => finding.confidence !== 'low' && !finding.atHome;

/**
 * The body with the findings of these classes cut out, and of SECRETS always. Undefined where what must go sits in URL or
 * header, or where the body would not be what it was (JSON that no longer parses): then the call cannot be sent at all.
 */
export function sanitizedBody(call: Call, classes: readonly DataClass[]): Buffer | undefined {
  const cuts = call.findings.filter(
    (it) => counts(it) && (it.class === 'SECRETS' || classes.includes(it.class)),
  );
  if (cuts.some((it) => it.part === 'head')) return undefined;
  if (cuts.length === 0) return call.body;
  const body = call.plain ?? call.body;
  return redactBody(
    body,
    cuts.map((it) => ({ start: it.start, end: it.end, label: it.kind })),
    bodyFormat(call.contentType, body),
  );
}
