import { readFileSync } from 'node:fs';
import { stateUnavailable } from '../core/errors.ts';
import { openEmbeddedStore } from './embedded/store.ts';
import type { RedisAddress } from './redis/link/connection.ts';
import type { RedisStoreOptions } from './redis/store.ts';
import type { Store } from './store.ts';

/** The place of the state: `state.url` as the configuration has parsed it. */
export type StateAddress =
  | { readonly driver: 'embedded'; readonly dir: string }
  | (RedisAddress & {
      readonly driver: 'redis';
      /** The prefix of all keys, by which several gateways can share one Redis. */
      readonly prefix: string;
    });

interface OpenStoreOptions {
  readonly url: StateAddress;
  /** The folder of local files, such as those of the embedded state. */
  readonly dir: string;
  /** The time limit of one command to Redis, in milliseconds. */
  readonly timeoutMs: number;
  /** A PEM file with the authorities that a `rediss://` server is verified against. null: those of Node. */
  readonly caFile: string | null;
  readonly log: RedisStoreOptions['log'];
}

/** Opens the state at `url`. Rejects with STATE_UNAVAILABLE where it cannot be opened. */
export async function openStore({ url, dir, timeoutMs, caFile, log }: OpenStoreOptions): Promise<Store> {
  if (url.driver === 'embedded') return openEmbeddedStore({ dir });
  const ca = authoritiesFor(url, caFile);
  // The client of Redis is loaded only where it is used.
  const { openRedisStore } = await import('./redis/store.ts');
  return openRedisStore({ ...url, timeoutMs, ca, log });
}

/**
 * Returns the format of records that Redis has noted, and that of this version. Rejects with
 * STATE_UNAVAILABLE without an answer.
 */
export async function redisFormats({ url, timeoutMs, caFile }: Omit<OpenStoreOptions, 'log' | 'dir'>) {
  if (url.driver !== 'redis') throw new TypeError('the state is not in Redis');
  const ca = authoritiesFor(url, caFile);
  const { redisFormat } = await import('./redis/store.ts');
  const { recordFormat } = await import('./redis/link/format.ts');
  return { noted: await redisFormat({ ...url, timeoutMs, ca }), own: recordFormat };
}

const authoritiesFor = ({ tls }: RedisAddress, file: string | null): string | undefined =>
  tls && file !== null ? readAuthorities(file) : undefined;

function readAuthorities(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw stateUnavailable(`The file ${file} of state.ca_file cannot be read.`, error);
  }
}
