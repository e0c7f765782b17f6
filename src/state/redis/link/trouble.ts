import type { RedisConnection } from './connection.ts';
import type { Names } from './names.ts';

/** Keys that are written, spread over the nodes of a Cluster. */
const placesMax = 64;
const keptMs = 1_000;
/** Answers of a Redis that stay until it is mended; others pass, or are those of a node that is away. */
const refusals = /\b(?:OOM|MISCONF|READONLY|NOREPLICAS|NOPERM)\b/;

/**
 * Says why Redis takes no writes, by one; undefined where it does. It answers, and refuses, where its memory
 * or its disk is full, or where it is a replica. A part of a Cluster that is away is no trouble of all.
 */
export async function troubleOf(connection: RedisConnection, names: Names): Promise<string | undefined> {
  const place = Math.floor(Math.random() * placesMax);
  try {
    await connection.call('SET', names.probe(place), '', 'PX', keptMs);
    return undefined;
  } catch (error) {
    const [refusal] = refusals.exec(String((error as Error).cause)) ?? [];
    if (refusal !== undefined) return `Redis answers, and takes no writes (${refusal}).`;
    return (await connection.isPartThere()) ? undefined : 'Redis does not answer.';
  }
}
