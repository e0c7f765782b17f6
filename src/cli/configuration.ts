import type { Config } from '../config/schema.ts';

/** The configuration that a command names, and its file; without one, that of a start without a file. */
export async function readConfig(
  named: string | undefined,
): Promise<{ file: string | undefined; config: Config }> {
  const { findConfigFile, loadConfig } = await import('../config/load.ts');
  const file = findConfigFile(named, process.env);
  return { file, config: loadConfig(file, process.env) };
}
