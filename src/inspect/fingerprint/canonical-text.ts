import { parsedJson } from '../../util/parsed-json.ts';
import { jsonDepth } from '../redact/locate.ts';

const depthMax = 512;

/**
 * Returns the same text for content that differs only in how its JSON is written: members are sorted by name,
 * and white space is removed. Other content stays as it is.
 */
export function canonicalText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  const value = parsedJson(text);
  const isCanonical = value === undefined || jsonDepth(bytes, depthMax);
  return isCanonical ? text : JSON.stringify(value, sortMembers);
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const sorted: Record<string, unknown> = Object.create(null);
  for (const [name, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    sorted[name] = member;
  return sorted;
}
