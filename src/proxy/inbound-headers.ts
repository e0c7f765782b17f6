import { overridesTarget } from '../catalogue/overriding-target.ts';
import { foldedName } from '../wire/http1/folded-name.ts';

/** Matches fields in which proxies before us tell the way to here, which has addresses of the inside. */
const notForUpstream =
  /^(?:x-(?:original-)?forwarded-.*|x-real-ip|(?:x-)?(?:cluster-)?client-ip|true-client-ip|cf-connecting-ip)$/;

/**
 * Returns the fields that go on to an upstream: none about the way, and none that names another URL than the
 * judged one.
 */
export function forUpstream(headers: readonly string[]): readonly string[] {
  for (let i = 0; i < headers.length; i += 2)
    if (isOfTheWay(headers[i] as string))
      return headers.filter((_, at) => !isOfTheWay(headers[at & ~1] as string));
  return headers;
}

/**
 * Tells whether a field does not go on. Most names are told by their first and last letters: this runs over
 * all fields of every call.
 */
function isOfTheWay(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20;
  // Names for the way begin with x, or begin with c or t and end in `ip`.
  const isPossible = first === 0x78 || ((first === 0x63 || first === 0x74) && endsInP(name));
  if (!isPossible) return overridesTarget(name);
  const folded = foldedName(name);
  return notForUpstream.test(folded) || overridesTarget(folded);
}

const endsInP = (name: string): boolean => (name.charCodeAt(name.length - 1) | 0x20) === 0x70;
