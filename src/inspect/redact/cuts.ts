import type { Span } from '../decode/span-map.ts';
import { isContinuation } from '../kernel/bytes.ts';

/** A span to cut, and the name that stands in its place. */
export interface Cut extends Span {
  readonly label: string;
}

export interface Replacement extends Span {
  readonly text: string;
}

/**
 * Returns the text that stands in place of a cut. Characters of a label that would need escaping become
 * underscores.
 */
export function marker(label: string): string {
  return `[REDACTED:${label.replace(/[^\w.-]/g, '_')}]`;
}

/**
 * Returns the cuts in order, inside the text and widened to whole UTF-8 characters. Cuts that overlap or
 * touch become one, with the label of the longest.
 */
export function mergeCuts(bytes: Buffer, cuts: readonly Cut[]): Cut[] {
  const sorted = cuts
    .filter((cut) => cut.start < cut.end && cut.start < bytes.length && cut.end > 0)
    .map((cut) => widenToCharacters(bytes, cut))
    .sort((one, other) => one.start - other.start);
  const merged: Cut[] = [];
  let longest = 0;
  for (const cut of sorted) {
    const last = merged.at(-1);
    const length = cut.end - cut.start;
    if (!last || cut.start > last.end) {
      merged.push(cut);
      longest = length;
      continue;
    }
    const label = length > longest ? cut.label : last.label;
    longest = Math.max(longest, length);
    merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, cut.end), label };
  }
  return merged;
}

/** Widens a cut to whole characters. A UTF-8 character has at most three continuation bytes. */
function widenToCharacters(bytes: Buffer, cut: Cut): Cut {
  let start = Math.max(0, cut.start);
  let end = Math.min(bytes.length, cut.end);
  for (let count = 0; count < 3 && start > 0 && isContinuation(bytes[start]); count += 1) start -= 1;
  for (let count = 0; count < 3 && isContinuation(bytes[end]); count += 1) end += 1;
  return { start, end, label: cut.label };
}

/** Returns the text with each span replaced; spans must be in order and must not overlap. */
export function replace(bytes: Buffer, replacements: readonly Replacement[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of replacements) {
    parts.push(bytes.subarray(at, start), Buffer.from(text));
    at = end;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts);
}
