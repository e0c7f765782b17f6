import { notACursor } from '../../rules/cursor.ts';
import type { Page, Paged } from '../../store.ts';
import { readMany } from '../records.ts';
import type { RedisConnection } from './connection.ts';

/**
 * Returns the place of a record in an index that is ordered by time. Times have the same number of digits, so
 * they sort as text.
 */
export const indexPlaceOf = (atMs: number, id: string): string =>
  `${String(Math.max(0, Math.floor(atMs))).padStart(15, '0')}:${id}`;

export const idOfPlace = (place: string): string => place.slice(16);

const placeShape = /^\d{15}:[0-9A-Za-z_.-]{1,64}$/;
const isPlace = (text: string): boolean => placeShape.test(text);

/**
 * Returns a cursor, which is the place of the last record that was looked at. Throws VALIDATION_FAILED where
 * the text is none.
 */
export function parseCursor(cursor: string | undefined, isCursor = isPlace): string | undefined {
  if (cursor !== undefined && !isCursor(cursor)) throw notACursor();
  return cursor;
}

interface Index {
  /** The places of the records, in the order of time. */
  readonly key: string;
  /** The records, by their ids. */
  readonly records: string;
}

/** The limit of records that are looked at for a page, whatever is asked for. */
const looksMax = 10_000;
const chunkMax = 500;

/**
 * Returns a page of records, newest first: those that `keep` makes something of. It looks at a bounded number
 * of records.
 */
export async function readPage<T>(
  connection: RedisConnection,
  index: Index,
  { limit, cursor }: Page,
  keep: (text: string) => T | undefined,
): Promise<Paged<T>> {
  const items: T[] = [];
  const before = parseCursor(cursor);
  let from = before === undefined ? '+' : `(${before}`;
  let last = '';
  for (let looks = 0; looks < looksMax; ) {
    // One more than is wanted shows whether the list goes on.
    const wanted = Math.min(chunkMax, limit - items.length + 1);
    const range = [index.key, from, '-', 'BYLEX', 'REV', 'LIMIT', 0, wanted];
    const places = (await connection.call('ZRANGE', ...range)) as string[];
    const texts = await readMany(connection, index.records, places.map(idOfPlace));
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
