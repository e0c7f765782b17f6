import { dirname, join } from 'node:path';
import { disk, readText } from '../../config/files.ts';
import type { Config } from '../../config/schema.ts';

/** File with the key that `postern init` has left beside the configuration. */
export const agentKeyFile = 'agent-key';

const keyBytesMax = 256;

/** Reads the key beside a configuration; undefined where there is none, or it is another user's. */
export function keyBeside({ file }: Pick<Config, 'file'>): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readText(disk, join(dirname(file), agentKeyFile), keyBytesMax).trim() || undefined;
  } catch {
    // The file is another user's, or there is none.
    return undefined;
  }
}
