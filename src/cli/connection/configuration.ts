import type { Config } from '../../config/schema.ts';
import { note, printable } from '../output.ts';

/** Returns the configuration that a command names, and its file; else that of a start without a file. */
export async function readConfig(
  named: string | undefined,
): Promise<{ file: string | undefined; config: Config }> {
  const { findConfigFile, loadConfig } = await import('../../config/load.ts');
  const file = findConfigFile(named, process.env);
  return { file, config: loadConfig(file, process.env) };
}

/** Stands for a variable that the daemon has and this shell lacks. */
const placeholder = 'set-for-the-daemon-alone';

/**
 * Returns the configuration for commands that need only its addresses. It passes over variables that only the
 * daemon has, and mistakes elsewhere in the file. An admin secret that comes from such a variable is null.
 */
export async function readAddresses(
  named: string | undefined,
): Promise<{ file: string | undefined; config: Config }> {
  const { ConfigError, findConfigFile, loadConfig } = await import('../../config/load.ts');
  try {
    return await readConfig(named);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const absent = error.mistakes.flatMap(
      ({ message }) => /^the variable (\w+) is not set$/.exec(message)?.[1] ?? [],
    );
    const file = findConfigFile(named, process.env);
    const env = { ...Object.fromEntries(absent.map((name) => [name, placeholder])), ...process.env };
    const config = await orPlaces(() => loadConfig(file, env), env);
    const adminSecret = config.control.adminSecret?.includes(placeholder) ? null : config.control.adminSecret;
    return { file, config: { ...config, control: { ...config.control, adminSecret } } };
  }
}

let isTold = false;

/**
 * Returns what `load` does or, where the file has mistakes, the addresses in it. Whoever mends a
 * configuration must still reach the running daemon, for example to revoke a key.
 */
async function orPlaces(load: () => Config, env: NodeJS.ProcessEnv): Promise<Config> {
  const { ConfigError, loadPlaces } = await import('../../config/load.ts');
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const config = loadPlaces(error, env);
    if (!isTold)
      note(
        `postern: ${printable(String(error.file))} has mistakes, which "postern config check" names; the daemon is looked for where the file says.`,
      );
    isTold = true;
    return config;
  }
}
