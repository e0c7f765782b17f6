import * as z from 'zod';
import { creationBy, type Detector } from './detector.ts';
import { checkFields, type DetectorFields, fieldsSchema, type OnMistake } from './detector-fields.ts';
import { literalStartsOf } from './literal-starts.ts';
import { expandParts } from './pattern-parts.ts';
import { PatternError } from './pattern-syntax.ts';

/*
 * The schema of detectors that an operator adds. Their files have the form of ours, with defaults for what a
 * newcomer need not know: a title, a source, a confidence, and the anchors, where the pattern shows them.
 */

const examplesMax = 100;
const examples = z.array(z.string().min(1).max(1000)).max(examplesMax);
/** Bound on a pattern with its parts, since the time to prove its bounds grows with the square of it. */
const wholePatternMax = 4000;

const { title, confidence } = fieldsSchema.shape;
const addedFields = fieldsSchema.extend({
  title: title.optional(),
  confidence: confidence.default('medium'),
  examples: z.strictObject({ match: examples.min(1), pass: examples.default([]) }),
});

export interface AddedDetector {
  readonly detector: Detector;
  /** The texts by which the detector is to be tried. */
  readonly examples: DetectorFields['examples'];
}

/** The names of the fields of a detector, and of those within them. */
export const addedFieldNames: readonly string[] = [
  ...Object.keys(addedFields.shape),
  ...['match', 'pass', 'before', 'after'],
];

/** The schema of an added detector in a file. */
export const addedDetectorSchema = addedFields.transform((written, context): AddedDetector => {
  if (wholeLengthOf(written.pattern) > wholePatternMax) {
    const message = `has more than ${wholePatternMax} characters with its parts`;
    context.addIssue({ code: 'custom', path: ['pattern'], message });
    return z.NEVER;
  }
  const fields = withAnchors({ ...written, title: written.title ?? written.id });
  return { detector: create(fields, context), examples: fields.examples };
});

const create = creationBy(checkAdded);

/** Returns the length of a pattern with its parts; 0 where it names none that there is. */
function wholeLengthOf(pattern: string | undefined): number {
  return orNone(() => expandParts(pattern ?? '').length) ?? 0;
}

/** Returns the fields with anchors, where they name nothing that a search could begin at. */
function withAnchors(fields: DetectorFields): DetectorFields {
  const { pattern, flags, window } = fields;
  if (hasStart(fields) || pattern === undefined || window !== undefined) return fields;
  const anchors = startsIn(pattern, flags) ?? [];
  return { ...fields, anchors: [...anchors], anchor_case: !flags.includes('i') };
}

/** Returns the literals with which a pattern begins; undefined where it is wrong. */
const startsIn = (pattern: string, flags: string): readonly string[] | undefined =>
  orNone(() => literalStartsOf(expandParts(pattern), flags));

/** Returns what `make` returns; undefined for a wrong pattern, which is told when its detector is created. */
function orNone<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof PatternError) return undefined;
    throw error;
  }
}

const hasStart = ({ anchors, keywords, words, near, digits }: DetectorFields): boolean =>
  anchors.length + keywords.length + words.length + near.length > 0 || digits !== undefined;

/** Checks what our own files may have and these may not, and all that is checked in both. */
function checkAdded(fields: DetectorFields, onMistake: OnMistake): void {
  const { pattern, flags, near } = fields;
  if (hasStart(fields) || pattern === undefined) checkFields(fields, onMistake);
  else if (startsIn(pattern, flags)) onMistake('pattern', withoutStart);
  // Their engine sees only what added detectors have found.
  if (near.length > 0) onMistake('near', 'is for detectors of the package alone; needs is for all');
  if (/[^\x20-\x7e]/.test(pattern ?? ''))
    onMistake('pattern', String.raw`must be ASCII, as it runs on the bytes of UTF-8: \xc3\xbc is ü`);
}

const withoutStart =
  'does not begin with a literal text, so anchors, keywords with a window, or digits must be named';
