import { isObject } from './body-path.ts';
import type { RequestReading } from './reading.ts';

/* Agents may describe a mail's recipients in a few words instead of the vendor's format. */

const lists: ReadonlySet<string> = new Set(['to', 'cc', 'bcc', 'recipient', 'recipients']);
/** Names of an object's members that hold recipients. */
const addresses: ReadonlySet<string> = new Set([...lists, 'email', 'address', 'emailaddress']);
/** Bound on the members of a list, which is more than a call keeps. */
const valuesMax = 2000;
const depthMax = 4;

/** Returns the recipients that a mail's body or its `message` names, in texts, lists or objects. */
export function describedRecipients(reading: RequestReading): readonly string[] {
  const body = reading.body.json();
  return [body, ...fieldsOf(body, (name) => name === 'message')]
    .flatMap((it) => fieldsOf(it, (name) => lists.has(name)))
    .flatMap((it) => textsOf(it, depthMax));
}

/**
 * Returns the values of wanted fields, whose names are compared in lower case: agents write names as they
 * like.
 */
const fieldsOf = (value: unknown, isWanted: (lowerName: string) => boolean): readonly unknown[] =>
  isObject(value)
    ? Object.entries(value).flatMap(([name, inner]) => (isWanted(name.toLowerCase()) ? [inner] : []))
    : [];

function textsOf(value: unknown, depth: number): readonly string[] {
  if (typeof value === 'string') return [value];
  if (depth === 0) return [];
  const inner = Array.isArray(value)
    ? value.slice(0, valuesMax)
    : fieldsOf(value, (name) => addresses.has(name));
  return inner.flatMap((it) => textsOf(it, depth - 1));
}
