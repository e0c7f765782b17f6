import { overridesTarget } from '../catalogue/overriding-target.ts';
import { foldedName } from '../wire/http1/folded-name.ts';

/**
 * Fields in which proxies before us tell the way to here, which has addresses of the inside. Fields that name
 * another URL than the judged one go as well.
 */
const notForUpstream =
  /^(?:x-(?:original-)?forwarded-.*|x-real-ip|(?:x-)?(?:cluster-)?client-ip|true-client-ip|cf-connecting-ip)$/;

export function forUpstream(headers: readonly string[]): readonly string[] {
  for (let i = 0; i < headers.length; i += 2)
    if (isOfTheWay(headers[i] as string))
      return headers.filter((_, at) => !isOfTheWay(headers[at & ~1] as string));
  return headers;
}

/** Most names are told by their first and last letters: this runs over all fields of every call. */
function isOfTheWay(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20;
  // Names for the way begin with x, or begin with c or t and end in `ip`.
  const isPossible = first === 0x78 || ((first === 0x63 || first === 0x74) && endsInP(name));
  if (!isPossible) return overridesTarget(name);
  const folded = foldedName(name);
  return notForUpstream.test(folded) || overridesTarget(folded);
}

const endsInP = (name: string): boolean => (name.charCodeAt(name.length - 1) | 0x20) === 0x70;
