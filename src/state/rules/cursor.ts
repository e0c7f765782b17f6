import { GatewayError } from '../../core/errors.ts';
import type { Paged } from '../port/page.ts';

/** Returns the error for a cursor that no list has given. */
export function notACursor(): GatewayError {
  const message = 'The cursor is none that a list has given; leave it out to begin anew.';
  return new GatewayError('VALIDATION_FAILED', message, { errors: [{ path: 'cursor', message }] });
}

/** Returns a page of rows. `rows` has one row more than `limit` where another page follows. */
export function cutPage<T>(rows: readonly T[], limit: number, cursorOf: (last: T) => string): Paged<T> {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last === undefined ? null : cursorOf(last) };
}
