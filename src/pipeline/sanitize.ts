import type { Call, DataClass, Finding } from '../call.ts';
import type { Cut } from '../text/cuts.ts';
import { bodyFormat, redactBody } from '../text/redact.ts';

/** Classes that SANITIZE cuts where the deciding rule names none. */
export const defaultCuts: readonly DataClass[] = ['SECRETS', 'PII', 'PHI'];

/** What counts: found with medium confidence or more, and no credential at its own vendor's place. */
export const counts = (finding: Finding): boolean => finding.confidence !== 'low' && !finding.atHome;

/**
 * Cutting moves what stands behind closer to what stands before, and makes new neighbours of a keyword: so what is left is read again, and
 * cut again. What still shows something after so many times cannot be sanitised.
 */
const roundsMax = 4;

/** Formats that say of each text how long it is: cut, it would be another message, or none. */
const countedTypes = /^application\/(?:grpc(?!\+json)|(?:x-|vnd\.google\.)?protobuf)/i;
/** A message of gRPC that still stands behind its length. */
const isFramed = ({ contentType, body }: Call): boolean =>
  /^application\/grpc/i.test(contentType) && (body[0] ?? 0) <= 1;

/**
 * The body with the findings of these classes cut out, and of SECRETS always; read again, it shows none of them. Undefined where what must
 * go sits in URL or header, where the body would not be what it was (JSON that no longer parses, protobuf), or where something is
 * left: then the call cannot be sent at all.
 */
export function sanitizedBody(call: Call, classes: readonly DataClass[]): Buffer | undefined {
  const isCut = (it: Finding): boolean =>
    counts(it) && (it.class === 'SECRETS' || classes.includes(it.class));
  if (call.findings.some((it) => it.part === 'head' && isCut(it))) return undefined;
  let cuts = call.findings.filter(isCut);
  if (cuts.length === 0) return call.body;
  if (countedTypes.test(call.contentType) || isFramed(call)) return undefined;
  let body = call.plain ?? call.body;
  for (let round = 0; round < roundsMax; round += 1) {
    const cut = redactBody(body, cuts.map(toCut), bodyFormat(call.contentType, body));
    const left = cut && (call.readAgain ? call.readAgain(cut) : none);
    if (!cut || !left) return undefined;
    cuts = left.filter(isCut);
    if (cuts.length === 0) return cut;
    body = cut;
  }
  return undefined;
}

const none: readonly Finding[] = [];
const toCut = ({ start, end, kind }: Finding): Cut => ({ start, end, label: kind });
