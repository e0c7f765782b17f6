import type * as z from 'zod';
import { keysAt } from '../json-schema.ts';
import { type Path, suggestion } from './mistakes.ts';

/** A mistake before its line is known. */
export interface UnplacedMistake {
  readonly path: Path;
  readonly message: string;
}

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
  null: 'null',
};

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function valueAt(root: unknown, path: Path): unknown {
  let at = root;
  for (const step of path) {
    // A single text may stand where a list is due.
    if (step === 0 && typeof at === 'string') continue;
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<PropertyKey, unknown>)[step];
  }
  return at;
}

/**
 * Returns a mistake of zod in plain words, without the value. An issue with several keys becomes several
 * mistakes.
 */
export function toFindings(
  issue: z.core.$ZodIssue,
  root: unknown,
  within: Path = [],
): readonly UnplacedMistake[] {
  const path = [...within, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(path);
    return issue.keys.map((key) => ({
      path: [...path, key],
      // Of entries with a type, each has keys of its own.
      message: known.has(key) ? 'is no key of this type' : `unknown key${suggestion(key, known)}`,
    }));
  }
  if (issue.code === 'invalid_union') {
    // The form of which the most was read is taken for the one that was meant.
    const meant = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a))[0];
    if (meant && depthOf(meant) > 0) return meant.flatMap((inner) => toFindings(inner, root, path));
  }
  return [{ path, message: messageOf(issue, valueAt(root, path)) }];
}

const depthOf = (issues: readonly z.core.$ZodIssue[]): number =>
  Math.max(0, ...issues.map((it) => it.path.length));

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  // The messages of the schema begin with `must`. All others are put into words here.
  if (value !== undefined && issue.message.startsWith('must ')) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined ? 'is missing' : wrongType(issue.expected, value);
    case 'invalid_value':
      return oneOf(issue.values, value);
    case 'invalid_union':
      return oneOf(optionsOf(issue), value);
    case 'too_big':
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}`;
    case 'invalid_key':
      return `this name ${issue.issues[0]?.message ?? 'is not allowed'}`;
    default:
      return value === undefined ? 'is missing' : issue.message;
  }
}

function wrongType(expected: string, value: unknown): string {
  if (typeof value === 'number' && ['int', 'number'].includes(expected)) {
    return expected === 'int' ? 'must be a whole number' : 'must be a finite number';
  }
  return `must be ${nouns[expected] ?? expected}, not ${nouns[kindOf(value)] ?? kindOf(value)}`;
}

/** Returns the allowed values where a union does not match: those of its discriminator, or its literals. */
function optionsOf(issue: z.core.$ZodIssueInvalidUnion): readonly unknown[] {
  const { options } = issue as { options?: unknown };
  if (Array.isArray(options)) return options;
  return issue.errors.flat().flatMap((it) => {
    return it.code === 'invalid_value' ? it.values : it.code === 'invalid_union' ? optionsOf(it) : [];
  });
}

function oneOf(options: readonly unknown[], value: unknown): string {
  const texts = options.map(String);
  if (value === undefined) return `is missing; it is one of ${texts.join(', ')}`;
  return `must be one of ${texts.join(', ')}${typeof value === 'string' ? suggestion(value, texts) : ''}`;
}

const unitOf = (origin: string): string =>
  origin === 'array' ? ' entries' : origin === 'string' ? ' characters' : '';
