export type { MaybePromise } from '../../util/maybe-promise.ts';

/**
 * Asks for a page of a list. `cursor` is that of the page before; undefined asks for the first page. Other
 * texts are rejected with VALIDATION_FAILED.
 */
export interface Page {
  /** The most items of the page, 1 to 1000. */
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface Paged<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; null where there is none. */
  readonly nextCursor: string | null;
}
