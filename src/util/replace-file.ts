import { renameSync, writeFileSync } from 'node:fs';

/** Replaces a file in one step, so that nobody reads half of it. What is written does not survive a loss of power for sure. */
export function replaceFile(file: string, text: string, mode?: number): void {
  writeFileSync(`${file}.new`, text, { mode });
  renameSync(`${file}.new`, file);
}
