import { GatewayError } from '../../../core/errors.ts';
import type { Page, Paged } from '../../store.ts';
import type { RedisConnection } from './connection.ts';

/** The place of a record in an index that is ordered by time: digits of equal number sort as text. */
export const indexPlaceOf = (atMs: number, id: string): string =>
  `${String(Math.max(0, Math.floor(atMs))).padStart(15, '0')}:${id}`;

export const idOfPlace = (place: string): string => place.slice(16);

const placeShape = /^\d{15}:[0-9A-Za-z_.-]{1,64}$/;
const isPlace = (text: string): boolean => placeShape.test(text);

/** A cursor is the place of the last record that was looked at. */
export function parseCursor(cursor: string | undefined, isCursor = isPlace): string | undefined {
  if (cursor !== undefined && !isCursor(cursor))
    throw new GatewayError('VALIDATION_FAILED', 'The cursor is not one that an earlier answer gave.');
  return cursor;
}

export interface Index {
  readonly key: string;
  /** Texts of the records at these places, in this order; null for one that is gone. */
  readonly read: (places: readonly string[]) => Promise<readonly (string | null)[]>;
  /** Exclusive, from the newest on; `+` is the end of all. */
  readonly from: string;
  /** Down to this one. */
  readonly to?: string;
}

/** The number of records looked at for a page, whatever is asked for. */
const looksMax = 10_000;
const chunkMax = 500;

/** Records newest first, those that `keep` makes something of. A bounded number is looked at for one page. */
export async function readPage<T>(
  connection: RedisConnection,
  index: Index,
  { limit }: Pick<Page, 'limit'>,
  keep: (text: string) => T | undefined,
): Promise<Paged<T>> {
  const items: T[] = [];
  let from = index.from;
  let last = '';
  for (let looks = 0; looks < looksMax; ) {
    // One more than is wanted, so that the end is known for what it is.
    const wanted = Math.min(chunkMax, limit - items.length + 1);
    const places = await rangeBefore(connection, index, from, wanted);
    const texts = places.length === 0 ? [] : await index.read(places);
    for (const [at, place] of places.entries()) {
      const text = texts[at];
      const item = text === null || text === undefined ? undefined : keep(text);
      if (item !== undefined && items.length === limit) return { items, nextCursor: last };
      if (item !== undefined) items.push(item);
      last = place;
    }
    if (places.length < wanted) return { items, nextCursor: null };
    looks += places.length;
    from = `(${last}`;
  }
  return { items, nextCursor: last };
}

async function rangeBefore(connection: RedisConnection, index: Index, from: string, count: number) {
  const range = [index.key, from, index.to ?? '-', 'BYLEX', 'REV', 'LIMIT', 0, count];
  return (await connection.call('ZRANGE', ...range)) as string[];
}

/** The place at which a page begins. */
export const beginning = (cursor: string | undefined): string => (cursor === undefined ? '+' : `(${cursor}`);
