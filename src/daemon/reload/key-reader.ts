import type { PresentedKey } from '../../core/call.ts';
import { digestOfKey, keyPrefix, peppered } from '../../core/key-text.ts';
import { createCache } from '../../state/cache.ts';
import { kept } from '../../util/kept.ts';

const keysMax = 4096;

/**
 * Reads presented keys as `readKey` does. The keyed hash costs most of that, so it is kept for recent keys. They are
 * known by their digests: no key stays in memory.
 */
export function createKeyReader(pepper: Buffer): (text: string) => PresentedKey | undefined {
  const known = createCache<PresentedKey>(keysMax);
  return (text) => {
    const digest = digestOfKey(text);
    if (digest === undefined) return undefined;
    return kept(known, digest, () => ({ prefix: keyPrefix(text), hash: peppered(digest, pepper) }));
  };
}
