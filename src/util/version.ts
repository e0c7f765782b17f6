import { readFileSync } from 'node:fs';
import { packageFile } from './program-files.ts';

/** Returns the version of the program, as its package says. */
export function version(): string {
  const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  return String(version);
}
