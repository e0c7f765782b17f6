import { createSecureContext } from 'node:tls';
import { cannotBeRead } from '../../config/checks/references.ts';
import { ConfigError, type Files } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';

/** The TLS identity of a listener. */
export interface ListenerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly minVersion: 'TLSv1.2';
}

export interface ListenersTls {
  /** The identity; undefined where the listener speaks plain text. */
  readonly proxy: ListenerTls | undefined;
  readonly control: ListenerTls | undefined;
}

/** Reads certificates and keys of the listeners. Throws ConfigError for an unreadable file or a wrong key. */
export const readListenersTls = (config: Config, files: Files): ListenersTls => ({
  proxy: readTls(config, files, 'proxy'),
  control: readTls(config, files, 'control'),
});

const pemBytesMax = 1024 * 1024;

function readTls(config: Config, files: Files, listener: 'proxy' | 'control'): ListenerTls | undefined {
  const { tls } = config[listener];
  if (tls === null) return undefined;
  const mistaken = (path: string, message: string): ConfigError =>
    new ConfigError(config.file, [{ path: `${listener}.tls${path}`, line: undefined, message }]);
  const read = (name: 'cert' | 'key'): Buffer => {
    try {
      return files.read(tls[name], pemBytesMax);
    } catch (error) {
      throw mistaken(`.${name}`, cannotBeRead(tls[name], error));
    }
  };
  const shown = { cert: read('cert'), key: read('key'), minVersion: 'TLSv1.2' } as const;
  try {
    createSecureContext(shown);
  } catch {
    throw mistaken('', 'cert must be certificates in PEM, the own one first, and key its private key');
  }
  return shown;
}
