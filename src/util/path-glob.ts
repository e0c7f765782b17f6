import { compileGlob, type Glob } from './glob.ts';

export type PathGlob = (path: string) => boolean;

const anySegments = '**';

/**
 * Compiles a glob over a path without its query. `**` as a whole segment stands for any number of segments,
 * also none. `*`, `?` and `[abc]` stay within their segment. Matching takes at most path segments x pattern
 * segments steps. A path that servers may read in several ways is matched in each: see `readingsOf`.
 */
export function compilePathGlob(pattern: string): PathGlob {
  const units = segmentsOf(pattern).map((it) => (it === anySegments ? anySegments : compileGlob(it)));
  return (path) => matches(units, segmentsOf(path));
}

const segmentsOf = (path: string): string[] => path.slice(1).split('/');

/**
 * Tells whether segments match. Each `**` first takes no segment; where what follows does not fit, the last
 * `**` takes one more.
 */
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
