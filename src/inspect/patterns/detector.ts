import * as z from 'zod';
import type { Confidence, DataClass } from '../../core/call.ts';
import type { CheckName } from '../checks/checks.ts';
import {
  checkFields,
  checkFileFields,
  type DetectorFields,
  type DetectorRole,
  fieldsSchema,
  type OnMistake,
} from './detector-fields.ts';
import { formsOf } from './keyword-forms.ts';
import { analysePattern, type PatternFacts } from './pattern-facts.ts';
import { expandParts } from './pattern-parts.ts';
import { PatternError } from './pattern-syntax.ts';
import { keywordMatchBits } from './random-match-bits.ts';

export type { DetectorRole } from './detector-fields.ts';

/**
 * A detector ready for use; `fieldsSchema` explains its fields. Only tests need the examples, so it has none.
 */
export interface Detector extends PatternFacts {
  readonly id: string;
  readonly title: string;
  readonly class: DataClass;
  readonly confidence: Confidence;
  readonly vendorHosts: readonly string[];
  /**
   * The places where such a credential is at home: `path`, `header:<name>` and `query:<name>`. The names are
   * in lower case, since the call's names are compared without case.
   */
  readonly homePlaces: readonly string[];
  readonly anchors: readonly string[];
  readonly anchorCase: boolean;
  readonly boundary: boolean;
  readonly keywords: readonly string[];
  readonly wholeWords: boolean;
  readonly window: { readonly before: number; readonly after: number };
  /** The least number of digits in a run; 0 where the detector does not look at runs of digits. */
  readonly digitsMin: number;
  readonly words: readonly string[];
  readonly near: readonly DetectorRole[];
  readonly role: DetectorRole | undefined;
  readonly needs: readonly DetectorRole[];
  /** The regular expression of its matches; empty where words are the matches. */
  readonly pattern: string;
  readonly flags: string;
  readonly group: number;
  readonly entropyMin: number;
  readonly check: CheckName | undefined;
  readonly failedCheck: Confidence | undefined;
  readonly isGeneric: boolean;
  readonly placeholders: readonly (string | RegExp)[];
  /** Tells whether published examples count like any value. */
  readonly countsExamples?: true;
  /** Tells whether a match is the secret itself, so that nothing speaks against it. */
  readonly isKnown?: true;
}

/**
 * The places where most vendors take a credential. Bodies and other headers are content, which others may
 * come to read.
 */
const usualHomePlaces: readonly string[] = [
  ...['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'private-token', 'x-auth-token'].map(
    (name) => `header:${name}`,
  ),
  'header:proxy-authorization',
  ...['key', 'api_key', 'apikey', 'access_token', 'token'].map((name) => `query:${name}`),
];

function homePlacesOf(value: DetectorFields): readonly string[] {
  if (value.home_places !== undefined) return value.home_places.map((place) => place.toLowerCase());
  return value.vendor_hosts.length > 0 ? usualHomePlaces : [];
}

/** The pattern of detectors with words, which match as they stand. */
const anything = '';

/**
 * The parts of a pattern that separate a value from words and numbers around it. The letter of an escaped
 * line feed is no word.
 */
const startsApart = String.raw`(?:(?<=\\[nrt])|(?<![0-9A-Za-z]|[0-9][.,-]))(?:`;
const endsApart = ')(?![0-9A-Za-z]|[.,-][0-9])';

function patternOf({ pattern = anything, whole_words }: DetectorFields): string {
  const whole = expandParts(pattern);
  return whole_words ? startsApart + whole + endsApart : whole;
}

/**
 * Creates a detector of its fields. Throws PatternError or SyntaxError where the pattern or a placeholder is
 * not allowed.
 */
function toDetector(value: DetectorFields): Detector {
  const pattern = patternOf(value);
  // Some patterns are refused only by the engine of JavaScript.
  new RegExp(pattern, value.flags);
  const keywords = value.whole_words ? [...new Set(value.keywords.flatMap(formsOf))] : value.keywords;
  const facts = analysePattern(pattern, value.flags, keywords);
  const { before = 0, after = 0 } = value.window ?? {};
  return {
    ...facts,
    randomMatchBits: facts.randomMatchBits + keywordMatchBits(keywords, before + after),
    id: value.id,
    title: value.title,
    class: value.class,
    confidence: value.confidence,
    vendorHosts: value.vendor_hosts,
    homePlaces: homePlacesOf(value),
    anchors: value.anchors,
    anchorCase: value.anchor_case,
    boundary: value.boundary,
    keywords,
    wholeWords: value.whole_words,
    window: value.window ?? { before: 0, after: 0 },
    digitsMin: value.digits ?? 0,
    words: value.words,
    near: value.near,
    role: value.role ?? (value.class === 'PII' ? 'identifier' : undefined),
    needs: value.needs,
    pattern,
    flags: value.flags,
    group: value.group,
    entropyMin: value.min_entropy,
    check: value.check,
    failedCheck: value.failed_check,
    isGeneric: value.generic,
    placeholders: value.placeholders.map(toPlaceholder),
  };
}

/**
 * Parses a placeholder. Administrators write it but it runs on callers' texts, so its pattern must be bounded
 * as well.
 */
function toPlaceholder(text: string): string | RegExp {
  const source = /^\/(.+)\/$/.exec(text)?.[1];
  if (source === undefined) return text;
  analysePattern(source);
  return new RegExp(source);
}

type Check = (fields: DetectorFields, onMistake: OnMistake) => void;

/** Returns the step of a schema that reports all mistakes of a detector's fields, and creates it. */
export const creationBy =
  (...checks: readonly Check[]) =>
  (fields: DetectorFields, context: z.core.$RefinementCtx): Detector => {
    const onMistake: OnMistake = (path, message) =>
      context.addIssue({ code: 'custom', path: [path], message });
    for (const check of checks) check(fields, onMistake);
    try {
      return toDetector(fields);
    } catch (error) {
      if (!(error instanceof PatternError || error instanceof SyntaxError)) throw error;
      onMistake('pattern', error.message);
      return z.NEVER;
    }
  };

export const detectorSchema = fieldsSchema.transform(creationBy(checkFields));

/** The schema of a detector in a file, which must also name its source and have enough examples. */
export const detectorFileSchema = fieldsSchema.transform(creationBy(checkFields, checkFileFields));
