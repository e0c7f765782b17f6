import type { RedisConnection } from './link/connection.ts';

/** Records are JSON texts. */
export const toRecord = <T>(text: unknown): T | undefined =>
  typeof text === 'string' && text !== '' ? (JSON.parse(text) as T) : undefined;

/** Records in the order of the ids; null for one that is missing. */
export async function readMany(
  connection: RedisConnection,
  key: string,
  ids: readonly string[],
): Promise<readonly (string | null)[]> {
  return ids.length === 0 ? [] : ((await connection.call('HMGET', key, ...ids)) as (string | null)[]);
}
