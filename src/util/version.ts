import { readFileSync } from 'node:fs';

/** The version of the program, as its package says. */
export function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return String(version);
}
