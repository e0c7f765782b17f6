import type { Config } from '../../config/schema.ts';

/** The configuration that a command names, and its file; without one, that of a start without a file. */
export async function readConfig(
  named: string | undefined,
): Promise<{ file: string | undefined; config: Config }> {
  const { findConfigFile, loadConfig } = await import('../../config/load.ts');
  const file = findConfigFile(named, process.env);
  return { file, config: loadConfig(file, process.env) };
}

/** Stands for a variable that the daemon has and this shell has not. */
const placeholder = 'set-for-the-daemon-alone';

/**
 * The same for commands that need only the addresses: variables that only the daemon has are passed over. A secret
 * that comes from one of them is none here.
 */
export async function readAddresses(
  named: string | undefined,
): Promise<{ file: string | undefined; config: Config }> {
  const { ConfigError, findConfigFile, loadConfig } = await import('../../config/load.ts');
  try {
    return await readConfig(named);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const absent = error.mistakes.map(({ message }) => /^the variable (\w+) is not set$/.exec(message)?.[1]);
    if (absent.length === 0 || absent.includes(undefined)) throw error;
    const file = findConfigFile(named, process.env);
    const env = { ...Object.fromEntries(absent.map((name) => [name, placeholder])), ...process.env };
    const config = loadConfig(file, env);
    const adminSecret = config.control.adminSecret?.includes(placeholder) ? null : config.control.adminSecret;
    return { file, config: { ...config, control: { ...config.control, adminSecret } } };
  }
}
