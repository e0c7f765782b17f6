import type { PresentedKey } from '../../core/call.ts';
import { hasKeyChecksum, hasKeyForm, keyDigest, keyPrefix, peppered } from '../../core/key-text.ts';
import { createCache } from '../../state/cache.ts';

const keysMax = 4096;

/**
 * Reads presented keys as `readKey` does. The keyed hash costs most of that, so it is kept for recent keys.
 * They are known by their digests: no key stays in memory.
 */
export function createKeyReader(pepper: Buffer): (text: string) => PresentedKey | undefined {
  const known = createCache<PresentedKey>(keysMax);
  return (text) => {
    if (!hasKeyForm(text)) return undefined;
    const digest = keyDigest(text);
    const before = known.get(digest);
    if (before) return before;
    // The checksum of a known key was right.
    if (!hasKeyChecksum(text)) return undefined;
    const key = { prefix: keyPrefix(text), hash: peppered(digest, pepper) };
    known.set(digest, key);
    return key;
  };
}
