import { existsSync, lchownSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Gives what root has made to the owner of `like`, or of the nearest folder above it that is there: the daemon that
 * shall use it runs as another user. Whoever is not root owns what they make, and can give it to nobody.
 */
export function ownedLike(path: string, like: string, user = process.getuid?.()): void {
  if (user !== 0) return;
  let model = like;
  while (!existsSync(model)) model = dirname(model);
  const { uid, gid } = statSync(model);
  lchownSync(path, uid, gid);
}
