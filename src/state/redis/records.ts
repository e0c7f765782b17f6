import type { RedisConnection } from './link/connection.ts';

/** Parses a record, which is a JSON text; undefined where there is none. */
export const toRecord = <T>(text: unknown): T | undefined =>
  typeof text === 'string' && text !== '' ? (JSON.parse(text) as T) : undefined;

export const readRecord = async <T>(
  connection: RedisConnection,
  key: string,
  id: string,
): Promise<T | undefined> => toRecord<T>(await connection.call('HGET', key, id));

/** Returns all records of a hash, in no order. */
export async function readAll<T>(connection: RedisConnection, key: string): Promise<T[]> {
  const texts = (await connection.call('HVALS', key)) as string[];
  return texts.flatMap((text) => toRecord<T>(text) ?? []);
}

/** Returns the texts of records in the order of the ids; null for one that is missing. */
export async function readMany(
  connection: RedisConnection,
  key: string,
  ids: readonly string[],
): Promise<readonly (string | null)[]> {
  return ids.length === 0 ? [] : ((await connection.call('HMGET', key, ...ids)) as (string | null)[]);
}
