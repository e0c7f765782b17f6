import type * as z from 'zod';

/** The types of JSON Schema, as a sentence names them. */
export const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const formatNames: Readonly<Record<string, string>> = {
  datetime: 'a time as 2030-01-31T12:00:00Z',
  date: 'a date as 2030-01-31',
  uuid: 'a UUID',
  url: 'a URL',
};

const units: Readonly<Record<string, string>> = { array: ' entries', string: ' characters' };

/** Returns in plain words what a value must be. It never quotes the value, which may be a secret. */
export function inWords(issue: z.core.$ZodIssue): string {
  // These words begin Zod's own messages. Messages that our schemas give are kept.
  if (!/^(?:Invalid|Too|Unrecognized)\b/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'invalid_type':
      // Zod tells that a value is absent in the message alone.
      if (/received undefined$/.test(issue.message)) return 'is missing';
      return `must be ${typeNames[issue.expected] ?? issue.expected}`;
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'too_small':
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'invalid_format':
      return formatNames[issue.format] ? `must be ${formatNames[issue.format]}` : 'has the wrong form';
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.map((key) => key.slice(0, 64)).join(', ')}`;
    case 'invalid_union':
      return 'has none of the allowed forms';
    default:
      return issue.message;
  }
}

const bound = (origin: string, side: string, value: number | bigint): string =>
  units[origin] === undefined ? `must be ${side} ${value}` : `must have ${side} ${value}${units[origin]}`;
