import { compileGlob, type Glob } from '../policy/glob.ts';
import { decodePercent } from './percent.ts';

export type PathGlob = (path: string) => boolean;

const anySegments = '**';

/**
 * Compiles a glob over a path without its query: `**` as a whole segment stands for any number of them, also none; `*`, `?` and `[abc]` stay
 * within their segment. Takes at most path segments x pattern segments steps. A path that hides segments matches none.
 */
export function compilePathGlob(pattern: string): PathGlob {
  const units = segmentsOf(pattern).map((it) => (it === anySegments ? anySegments : compileGlob(it)));
  return (path) => !hidesSegments(path) && matches(units, segmentsOf(path));
}

/** So often at most are escapes undone; what has some then is not meant well. */
const decodingsMax = 4;
const separators = /%(?:2e|2f|5c)/i;
/** Overlong forms of UTF-8, which lenient decoders take (RFC 3629, 10), and the escapes of old scripts. */
const odd = /%(?:c[01]%|e0%[89]|f0%8|u[0-9a-f]{4})/i;

/**
 * Whether servers that decode a path twice, or too leniently, see other segments in it. What one decoding brings to light is the caller's
 * to look at: see `readingsOf`.
 */
function hidesSegments(path: string): boolean {
  if (!path.includes('%')) return false;
  let text = path;
  for (let i = 0; i < decodingsMax; i++) {
    if (odd.test(text)) return true;
    const decoded = decodePercent(text);
    if (decoded === text) return false;
    if (separators.test(decoded)) return true;
    text = decoded;
  }
  return true;
}

const segmentsOf = (path: string): string[] => path.slice(1).split('/');

/** Each `**` first takes nothing; when what follows does not fit, the last one takes a segment more. */
function matches(units: readonly (Glob | typeof anySegments)[], segments: readonly string[]): boolean {
  let unit = 0;
  let segment = 0;
  let lastAny = -1;
  let takenTo = 0;
  while (segment < segments.length) {
    const wanted = units[unit];
    if (wanted === anySegments) {
      lastAny = unit++;
      takenTo = segment;
    } else if (wanted?.(segments[segment] as string)) {
      unit++;
      segment++;
    } else if (lastAny >= 0) {
      unit = lastAny + 1;
      segment = ++takenTo;
    } else return false;
  }
  return units.slice(unit).every((it) => it === anySegments);
}
