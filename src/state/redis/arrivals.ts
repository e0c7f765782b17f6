import type { Arrivals } from '../store.ts';
import { traceLines } from '../traces/lines.ts';
import { fromChunk, idBytes } from './link/chunks.ts';
import type { RedisConnection } from './link/connection.ts';
import type { CallNames } from './link/names.ts';

/* Reads which chunks came last, on whatever node. A stream has their places, and forgets the oldest ones. */

/** The limit of chunks in one answer. */
const chunksMax = 32;
const beginning = '0-0';
const positionShape = /^\d{1,15}-\d{1,15}$/;
const idLength = 16;

type Entry = readonly [id: Buffer, fields: readonly Buffer[]];

export async function arrivalsSince(
  connection: RedisConnection,
  names: CallNames,
  position: string | undefined,
): Promise<Arrivals> {
  const nothing = { traces: [], hasMore: false, hasGap: false };
  if (position === undefined || !positionShape.test(position)) {
    const last = (await connection.callBuffers('XREVRANGE', names.arrivals, '+', '-', 'COUNT', 1)) as Entry[];
    return { ...nothing, position: last[0]?.[0].toString() ?? beginning, hasGap: position !== undefined };
  }
  const range = [names.arrivals, position, '+', 'COUNT', chunksMax + 1];
  const entries = (await connection.callBuffers('XRANGE', ...range)) as Entry[];
  const [first] = entries;
  if (!first) return { ...nothing, position };
  // Where the chunk of the position is gone, chunks behind it may be gone as well.
  const isFollowed = first[0].toString() === position;
  const fresh = isFollowed ? entries.slice(1) : entries;
  const traces = await Promise.all(fresh.map((it) => tracesOf(connection, names, it)));
  return {
    traces: traces.flat(),
    position: entries.at(-1)?.[0].toString() ?? position,
    hasMore: entries.length > chunksMax,
    hasGap: !isFollowed && position !== beginning,
  };
}

async function tracesOf(connection: RedisConnection, names: CallNames, [, fields]: Entry): Promise<string[]> {
  const [, second, , number, , news] = fields;
  const place = [names.chunks(Number(second)), Number(number)] as const;
  const chunk = (await connection.callBuffers('LINDEX', ...place)) as Buffer | null;
  if (chunk === null) return [];
  const isNew = newIn(news);
  return [...traceLines(fromChunk(chunk))].filter(({ traceId }) => isNew(traceId)).map((it) => it.read());
}

/**
 * Returns a function that tells once for each new line of a chunk that it is new. Lines may have come before;
 * `news` then has the ids of the new ones.
 */
function newIn(news: Buffer | undefined): (traceId: string) => boolean {
  if (!news || news.length === 0) {
    const seen = new Set<string>();
    return (id) => !seen.has(id) && seen.add(id) !== undefined;
  }
  const ids = new Set<string>();
  for (let at = 0; at < news.length; at += idLength) ids.add(news.toString('latin1', at, at + idLength));
  return (id) => ids.delete(idBytes(id).toString('latin1'));
}
