import { existsSync, lchownSync, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Gives what root has made to the owner of `like`, or of the nearest folder above it. The daemon that shall
 * use it runs as another user. Whoever is not root owns what they make, and can give it to nobody.
 */
export function ownedLike(path: string, like: string, user = process.getuid?.()): void {
  if (user !== 0) return;
  let model = like;
  while (!existsSync(model)) model = dirname(model);
  const { uid, gid } = statSync(model);
  if (uid === lstatSync(path).uid) return;
  try {
    lchownSync(path, uid, gid);
  } catch (error) {
    // Root of a container may give nothing away (CAP_CHOWN), or not to whom it does not know, and keeps what
    // it makes.
    if (!['EPERM', 'EINVAL'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}
