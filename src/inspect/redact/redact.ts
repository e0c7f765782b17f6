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

/** `json-start` is a beginning of JSON, of which the rest is not there. */
export type CutFormat = BodyFormat | 'json-start';

const rules: Readonly<Record<Exclude<CutFormat, 'text' | 'multipart'>, CutRules>> = {
  json: jsonRules,
  'json-start': jsonRules,
  form: formRules,
  xml: xmlRules,
};

/** The text with each cut replaced by `[REDACTED:<label>]`; `count` tells at how many places. */
export function redact(bytes: Buffer, cuts: readonly Cut[]): { bytes: Buffer; count: number } {
  const merged = mergeCuts(bytes, cuts);
  const replacements = merged.map(({ start, end, label }) => ({ start, end, text: marker(label) }));
  return { bytes: replace(bytes, replacements), count: merged.length };
}

/**
 * The same for a body that its receiver will parse: structure stays, escapes go as a whole, a JSON number or literal becomes a
 * string. Undefined where a body that was JSON would be none any more.
 */
export function redactBody(bytes: Buffer, cuts: readonly Cut[], format: CutFormat): Buffer | undefined {
  const merged = mergeCuts(bytes, cuts);
  if (merged.length === 0) return bytes;
  const redacted = replace(bytes, fitFormat(bytes, merged, format, 0));
  return format === 'json' && isJson(bytes) && !isJson(redacted) ? undefined : redacted;
}

/** The cuts as the format lets them be made; what only claims to be JSON is text. */
function fitFormat(bytes: Buffer, cuts: readonly Cut[], format: CutFormat, depth: number): Replacement[] {
  if (format === 'multipart') return fitParts(bytes, cuts, depth);
  if (format === 'text' || (format === 'json' && !isJson(bytes)))
    return cuts.map(({ start, end, label }) => ({ start, end, text: marker(label) }));
  return fit(bytes, cuts, rules[format]);
}

/** Parts may have parts. */
const partDepthMax = 4;

/** Delimiter lines and names of header fields stay; each part is cut as its own type wants it. */
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

/** What of the cuts lies in a span, counted from its start. */
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

/** One JSON text, or one a line. */
function isJson(bytes: Buffer): boolean {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  return parses(text) || text.split('\n').every((line) => line.trim() === '' || parses(line));
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The question was whether it parses.
    return false;
  }
}

/** Between the beginning of a cut and that of the name that it means: a quote, `</`. */
const openingMax = 2;

/** The cuts as far as they lie in the format's tokens, each widened to whole units. */
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

/** Numbers that stand for one value (`[115,107,…]`), with which the cut begins, become one string. */
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
