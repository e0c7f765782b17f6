import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { ownedLike } from './owned-like.ts';

/**
 * Replaces a file in one step, so that nobody reads half of it. Where root replaces it, the owner stays the
 * same. The new text may be lost when power fails.
 */
export function replaceFile(file: string, text: string, mode?: number): void {
  writeFileSync(`${file}.new`, text, { mode });
  if (existsSync(file)) ownedLike(`${file}.new`, file);
  renameSync(`${file}.new`, file);
}
