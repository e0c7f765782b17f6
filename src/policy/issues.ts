import type { z } from 'zod';
import { nearest } from '../util/nearest.ts';
import { typeNames } from '../util/schema-words.ts';
import { shorten } from './warnings/shorten.ts';

/*
 * Mistakes that a schema finds, for the author of the document. Each tells its place, its value, and what was
 * probably meant.
 */

export const errorsMax = 50;

export interface PolicyError {
  /** The place in the document, such as `rules[0].match.verbs[1]`. */
  readonly path: string;
  readonly message: string;
}

export interface DocumentKeys {
  /** Returns the keys that are valid at a path. */
  at(path: readonly PropertyKey[]): readonly string[];
  /** The names of places, with the keys that belong there; used for keys in a wrong place. */
  readonly homes?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Makes errors of the first 50 issues, because finding the nearest word is costly. The issues need their
 * input (`reportInput`).
 */
export function toErrors(issues: readonly z.core.$ZodIssue[], keys: DocumentKeys): PolicyError[] {
  const errors: PolicyError[] = [];
  for (const issue of issues) {
    if (errors.length >= errorsMax) break;
    errors.push(...errorsOf(issue, keys, errorsMax - errors.length));
  }
  return errors;
}

function errorsOf(issue: z.core.$ZodIssue, keys: DocumentKeys, max: number): PolicyError[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: toPath(issue.path), message: toMessage(issue) }];
  const valid = keys.at(issue.path);
  return issue.keys.slice(0, max).map((key) => ({
    path: toPath([...issue.path, key]),
    message: unknownKey(key, valid, keys.homes ?? {}),
  }));
}

function unknownKey(
  key: string,
  valid: readonly string[],
  homes: NonNullable<DocumentKeys['homes']>,
): string {
  const near = nearest(key, valid);
  if (near !== undefined) return `${shorten(key)} is not a key here; did you mean ${near}?`;
  const home = Object.entries(homes).find(([, keys]) => keys.includes(key));
  return home
    ? `${key} belongs in ${home[0]}`
    : `${shorten(key)} is not a key here; valid are ${valid.join(', ')}`;
}

export function unknownWord(word: string, valid: readonly string[], what: string): string {
  const near = nearest(word, valid);
  return `"${shorten(word)}" ${what}: ${near ? `did you mean ${near}?` : `one of ${valid.join(', ')}`}`;
}

function toMessage(issue: z.core.$ZodIssue): string {
  const { input } = issue;
  switch (issue.code) {
    case 'invalid_value':
      if (typeof input === 'string') return unknownWord(input, issue.values.map(String), 'is not valid');
      return input === undefined ? 'is missing' : `must be one of ${issue.values.join(', ')}${quote(input)}`;
    case 'invalid_type':
      if (input === undefined) return 'is missing';
      return `must be ${typeNames[issue.expected] ?? issue.expected}${quote(input)}`;
    case 'too_big':
      return `${boundText(issue, 'at most', issue.maximum)}${quote(input)}`;
    case 'too_small':
      return `${boundText(issue, 'at least', issue.minimum)}${quote(input)}`;
    default:
      return `${issue.message}${quote(input)}`;
  }
}

/**
 * Returns the message for a value beyond a bound. Messages of the schema stay, those of its library are
 * written anew.
 */
function boundText({ message, origin }: Bounded, side: string, bound: number | bigint): string {
  if (!/^Too (?:big|small): /.test(message)) return message;
  const unit = units[origin];
  return unit === undefined ? `must be ${side} ${bound}` : `must have ${side} ${bound} ${unit}`;
}

type Bounded = z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall;

const units: Readonly<Record<string, string>> = { array: 'entries', string: 'characters' };

const toPath = (path: readonly PropertyKey[]): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${shorten(String(step))}`))
    .join('')
    .replace(/^\./, '');

const quote = (input: unknown): string =>
  ['string', 'number', 'boolean'].includes(typeof input) ? ` (it is ${shorten(JSON.stringify(input))})` : '';
