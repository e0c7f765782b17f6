import { isObject } from './body-path.ts';
import type { RequestReading } from './reading.ts';

/* Agents may describe a mail's recipients in a few words instead of the vendor's format. */

const lists: ReadonlySet<string> = new Set(['to', 'cc', 'bcc', 'recipient', 'recipients']);
/** Names of an object's members that hold recipients. */
const addresses: ReadonlySet<string> = new Set([...lists, 'email', 'address', 'emailaddress']);
/** More than are kept of one call. */
const valuesMax = 2000;
const depthMax = 4;

/** Returns the recipients that a mail's body or its `message` names: texts, lists, objects. */
export function describedRecipients(reading: RequestReading): readonly string[] {
  const body = reading.body.json();
  return [body, ...fieldsOf(body, (name) => name === 'message')]
    .flatMap((it) => fieldsOf(it, (name) => lists.has(name)))
    .flatMap((it) => textsOf(it, depthMax));
}

/** In any case: agents write names as they like. */
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
