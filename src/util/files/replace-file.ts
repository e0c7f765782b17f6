import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { ownedLike } from './owned-like.ts';

/**
 * Replaces a file in one step, so that nobody reads half of it, and leaves it to its owner. What is written
 * does not survive a loss of power for sure.
 */
export function replaceFile(file: string, text: string, mode?: number): void {
  writeFileSync(`${file}.new`, text, { mode });
  if (existsSync(file)) ownedLike(`${file}.new`, file);
  renameSync(`${file}.new`, file);
}
