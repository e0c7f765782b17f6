import { kept } from '../../util/kept.ts';
import { cutPage, notACursor } from '../rules/cursor.ts';
import type { Page, Paged } from '../store.ts';
import { type Database, type Row, recordOf, type Statement, type Value } from './sqlite.ts';

/** A condition in SQL over the columns of the table, with one `?`, and its value. */
export type Condition = readonly [sql: string, value: Value];

/** Returns the conditions whose values are not undefined. */
export const given = (...asked: readonly [sql: string, value: Value | undefined][]): Condition[] =>
  asked.filter((it): it is [string, Value] => it[1] !== undefined);

interface ListingOptions<T> {
  readonly table: string;
  /** The columns that together name a row and order the list. The first one is a number. */
  readonly order: readonly [number: string, id: string];
  /** The columns that `toItem` reads. With all columns, each generated one would be computed for each row. */
  readonly columns: string;
  readonly toItem: (row: Row) => T;
}

/** Returns the options for a table whose rows hold a record each. */
export const records = <T>() => ({ columns: 'record', toItem: recordOf<T> }) as const;

/**
 * Returns a function that lists rows of a table, newest first. A cursor is the place of the last row that was
 * returned, so rows that are added meanwhile move nothing. The texts of conditions come from the code, never
 * from a request. So each combination of them is prepared once.
 */
export function createListing<T>(db: Database, { table, order, columns, toItem }: ListingOptions<T>) {
  const statements = new Map<string, Statement>();
  const [number, id] = order;

  const statementFor = (where: string): Statement =>
    kept(statements, where, () =>
      db.prepare(`
        SELECT ${columns}, ${number} AS place_number, ${id} AS place_id FROM ${table}
        WHERE ${where} AND (${number}, ${id}) < (?, ?) ORDER BY ${number} DESC, ${id} DESC LIMIT ?
      `),
    );

  return (conditions: readonly Condition[], { limit, cursor }: Page): Paged<T> => {
    const [fromNumber, fromId] = cursor === undefined ? beforeAll : parseCursor(cursor);
    const where = conditions.map(([sql]) => sql).join(' AND ');
    const values = conditions.map(([, value]) => value);
    const rows = statementFor(where).all(...values, fromNumber, fromId, limit + 1);
    const { items, nextCursor } = cutPage(rows, limit, toCursor);
    return { items: items.map(toItem), nextCursor };
  };
}

type Place = readonly [number: number, id: string];

const beforeAll: Place = [Number.MAX_SAFE_INTEGER, ''];
const cursorLengthMax = 512;

function toCursor({ place_number, place_id }: Row): string {
  const place: Place = [Number(place_number), String(place_id)];
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function parseCursor(text: string): Place {
  const place = parseJson(text);
  if (!Array.isArray(place) || place.length !== 2) throw notACursor();
  const [number, id] = place as unknown[];
  if (!Number.isSafeInteger(number) || typeof id !== 'string') throw notACursor();
  return [number as number, id];
}

function parseJson(text: string): unknown {
  if (text.length > cursorLengthMax || !/^[\w-]+$/.test(text)) throw notACursor();
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    throw notACursor();
  }
}
