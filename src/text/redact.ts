import { type CutRules, type CutToken, formRules, jsonRules, xmlRules } from './cut-tokens.ts';
import { type Cut, marker, mergeCuts, type Replacement, replace } from './cuts.ts';

export type BodyFormat = 'json' | 'form' | 'xml' | 'text';

const rules: Readonly<Record<Exclude<BodyFormat, 'text'>, CutRules>> = {
  json: jsonRules,
  form: formRules,
  xml: xmlRules,
};

/**
 * The format of a body by its media type; what begins like a JSON object or array is JSON under any type but XML and multipart,
 * because clients often leave the type at their library's default.
 */
export function bodyFormat(contentType: string, bytes: Buffer): BodyFormat {
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  if (/[/+](json|x-ndjson|ndjson|jsonl|json-seq)$/.test(type)) return 'json';
  if (/[/+](xml|html)$/.test(type)) return 'xml';
  if (type.startsWith('multipart/')) return 'text';
  const first = bytes
    .toString('latin1', 0, 64)
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart()[0];
  if (first === '{' || first === '[') return 'json';
  return type === 'application/x-www-form-urlencoded' ? 'form' : 'text';
}

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
export function redactBody(bytes: Buffer, cuts: readonly Cut[], format: BodyFormat): Buffer | undefined {
  const merged = mergeCuts(bytes, cuts);
  if (merged.length === 0) return bytes;
  if (format === 'text' || (format === 'json' && !isJson(bytes))) return redact(bytes, merged).bytes;
  const redacted = replace(bytes, fit(bytes, merged, rules[format]));
  return format === 'json' && !isJson(redacted) ? undefined : redacted;
}

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

/** Numbers that stand for one value (`[115,107,…]`) become one string. */
function addScalar(bytes: Buffer, fitted: Replacement[], token: CutToken, cut: Cut): void {
  const last = fitted.at(-1);
  const text = `"${marker(cut.label)}"`;
  const isContinued =
    last?.text === text &&
    last.end > cut.start &&
    /^[\s,]*$/.test(bytes.toString('latin1', last.end, token.start));
  if (isContinued) fitted.pop();
  fitted.push({ start: isContinued ? last.start : token.start, end: token.end, text });
}
