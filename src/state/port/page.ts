export type { MaybePromise } from '../../util/maybe-promise.ts';

/** `cursor` is what an earlier answer gave; rejected with VALIDATION_FAILED where it is none. */
export interface Page {
  /** 1 to 1000. */
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface Paged<T> {
  readonly items: readonly T[];
  /** null at the end. */
  readonly nextCursor: string | null;
}
