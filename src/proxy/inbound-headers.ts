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

/** Tells whether a field does not go on. */
const isOfTheWay = (name: string): boolean => notForUpstream.test(foldedName(name)) || overridesTarget(name);
