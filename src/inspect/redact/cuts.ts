import type { Span } from '../decode/span-map.ts';

/** What to cut, and the name that stands in its place. */
export interface Cut extends Span {
  readonly label: string;
}

/** A span and what is written instead of it. */
export interface Replacement extends Span {
  readonly text: string;
}

/** What stands in place of a cut. Detectors' ids need no escaping anywhere; whatever else a label holds is made harmless. */
export function marker(label: string): string {
  return `[REDACTED:${label.replace(/[^\w.-]/g, '_')}]`;
}

/**
 * The cuts in order, inside the text, widened to whole UTF-8 characters; those that overlap or touch made one, named after the
 * longest of them.
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

/** Continuation bytes at either edge belong to a character that began before; a sequence has at most three. */
function widenToCharacters(bytes: Buffer, cut: Cut): Cut {
  let start = Math.max(0, cut.start);
  let end = Math.min(bytes.length, cut.end);
  for (let count = 0; count < 3 && start > 0 && isContinuation(bytes[start]); count += 1) start -= 1;
  for (let count = 0; count < 3 && isContinuation(bytes[end]); count += 1) end += 1;
  return { start, end, label: cut.label };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** The text with each span replaced; they are in order and do not overlap. */
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
