import { existsSync, lchownSync, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Gives a path that root has made to the owner of `like`, or of the nearest folder above it that exists. The
 * daemon that shall use it runs as another user. Does nothing for a `user` who is not root: such users own
 * what they make, and can give it to nobody.
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
    // Root in a container may have no right to give files away (CAP_CHOWN), or may not know the owner. The
    // file then stays root's.
    if (!['EPERM', 'EINVAL'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}
