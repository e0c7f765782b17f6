import { parsedJson } from '../../util/parsed-json.ts';
import { type BodyFormat, bodyFormat } from '../decode/body-format.ts';
import {
  type CutRules,
  type CutToken,
  formRules,
  jsonRules,
  partHeadRules,
  xmlRules,
} from '../decode/cut-tokens.ts';
import { multipartParts } from '../decode/multipart-parts.ts';
import type { Span } from '../decode/span-map.ts';
import { type Cut, marker, mergeCuts, type Replacement, replace } from './cuts.ts';

/**
 * The format of what is cut. Beside the formats of bodies there is `json-start`, the beginning of a JSON text
 * whose rest is missing.
 */
export type CutFormat = BodyFormat | 'json-start';

const rules: Readonly<Record<Exclude<CutFormat, 'text' | 'multipart'>, CutRules>> = {
  json: jsonRules,
  'json-start': jsonRules,
  form: formRules,
  xml: xmlRules,
};

/** Replaces each cut with `[REDACTED:<label>]`. `count` is the number of places. */
export function redact(bytes: Buffer, cuts: readonly Cut[]): { bytes: Buffer; count: number } {
  const merged = mergeCuts(bytes, cuts);
  const replacements = merged.map(({ start, end, label }) => ({ start, end, text: marker(label) }));
  return { bytes: replace(bytes, replacements), count: merged.length };
}

/**
 * Replaces each cut in a body that its receiver parses. The structure stays, escapes go as a whole, and JSON
 * numbers and literals become strings. Returns undefined where a JSON body would become invalid.
 */
export function redactBody(bytes: Buffer, cuts: readonly Cut[], format: CutFormat): Buffer | undefined {
  const merged = mergeCuts(bytes, cuts);
  if (merged.length === 0) return bytes;
  const redacted = replace(bytes, fitFormat(bytes, merged, format, 0));
  return format === 'json' && isJson(bytes) && !isJson(redacted) ? undefined : redacted;
}

/** Returns replacements for the cuts that fit the format. A body that only claims to be JSON is text. */
function fitFormat(bytes: Buffer, cuts: readonly Cut[], format: CutFormat, depth: number): Replacement[] {
  if (format === 'multipart') return fitParts(bytes, cuts, depth);
  if (format === 'text' || (format === 'json' && !isJson(bytes)))
    return cuts.map(({ start, end, label }) => ({ start, end, text: marker(label) }));
  return fit(bytes, cuts, rules[format]);
}

/** Bound on the depth of parts within parts. */
const partDepthMax = 4;

/**
 * Returns replacements for the cuts that fit the parts. Delimiter lines and names of header fields stay, and
 * each part is cut by its type.
 */
function fitParts(bytes: Buffer, cuts: readonly Cut[], depth: number): Replacement[] {
  const parts = depth < partDepthMax ? multipartParts(bytes) : [];
  if (parts.length === 0) return fitFormat(bytes, cuts, 'text', depth);
  return parts.flatMap(({ head, content }) => {
    const fields = bytes.subarray(head.start, head.end);
    const value = bytes.subarray(content.start, content.end);
    const type = /^content-type[ \t]*:([^\r\n]*)/im.exec(fields.toString('latin1'))?.[1] ?? '';
    return [
      ...moved(fit(fields, within(cuts, head), partHeadRules), head.start),
      ...moved(fitFormat(value, within(cuts, content), bodyFormat(type, value), depth + 1), content.start),
    ];
  });
}

/** Returns the cuts as far as they lie in a span, counted from the span's start. */
const within = (cuts: readonly Cut[], { start, end }: Span): Cut[] =>
  cuts
    .filter((cut) => cut.start < end && cut.end > start)
    .map((cut) => ({
      start: Math.max(0, cut.start - start),
      end: Math.min(end, cut.end) - start,
      label: cut.label,
    }));

const moved = (replacements: readonly Replacement[], by: number): Replacement[] =>
  replacements.map(({ start, end, text }) => ({ start: start + by, end: end + by, text }));

/** Tells whether a text is JSON, or has JSON in every line. */
function isJson(bytes: Buffer): boolean {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  const parses = (it: string): boolean => parsedJson(it) !== undefined;
  return parses(text) || text.split('\n').every((line) => line.trim() === '' || parses(line));
}

/** The length of a quote or `</` that may stand between the start of a cut and the name that is meant. */
const openingMax = 2;

/** Returns replacements for the cuts that fit the tokens of the format. Each is widened to whole units. */
function fit(bytes: Buffer, cuts: readonly Cut[], { tokens, unitLength }: CutRules): Replacement[] {
  const fitted: Replacement[] = [];
  let first = 0;
  for (const token of tokens(bytes)) {
    while (first < cuts.length && (cuts[first]?.end ?? 0) <= token.start) first += 1;
    let at = token.start;
    for (let index = first; index < cuts.length; index += 1) {
      const cut = cuts[index];
      if (!cut || cut.start >= token.end) break;
      if (token.isName && cut.start < token.start - openingMax) continue;
      if (token.isScalar) {
        addScalar(bytes, fitted, token, cut);
        break;
      }
      while (at + unitLength(bytes, at) <= cut.start) at += unitLength(bytes, at);
      const start = at;
      while (at < cut.end && at < token.end) at += unitLength(bytes, at);
      at = Math.min(at, token.end);
      if (at > start) fitted.push({ start, end: at, text: marker(cut.label) });
    }
  }
  return fitted;
}

/**
 * Adds the replacement of a scalar with a string. Numbers that form one value (`[115,107,…]`) are replaced
 * together.
 */
function addScalar(bytes: Buffer, fitted: Replacement[], token: CutToken, cut: Cut): void {
  const last = fitted.at(-1);
  const text = `"${marker(cut.label)}"`;
  const isContinued =
    last?.text === text &&
    last.start <= cut.start + openingMax &&
    /^[\s,]*$/.test(bytes.toString('latin1', last.end, token.start));
  if (isContinued) fitted.pop();
  fitted.push({ start: isContinued ? last.start : token.start, end: token.end, text });
}
