/**
 * Returns the environment of this process for a program that it starts: without the secret that is above all
 * keys, the place where that lies, and POSTERN_KEY. The proxy of the shell stays, with the key in its URL.
 */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const { SERVICE_API_KEYS_ADMIN_SECRET: _, POSTERN_KEY: __, POSTERN_CONFIG: ___, ...own } = process.env;
  return own;
}
