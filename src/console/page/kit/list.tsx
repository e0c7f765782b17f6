import type { ComponentChildren } from 'preact';
import type { ListedPages } from '../data/pages.ts';
import { Problem, Skeleton } from './bits.tsx';
import { type Column, Table } from './table.tsx';

interface ListOf<T> {
  readonly of: ListedPages<T>;
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  readonly empty: ComponentChildren;
  readonly isChosen?: (row: T) => boolean;
  readonly stacks?: boolean;
}

/** Shows a list of the API as a table, also while it comes, empty or failed, with a way to the next page. */
export function List<T>({ of, empty, ...table }: ListOf<T>) {
  return (
    <>
      <Problem of={of.problem} again={of.reload} />
      {of.items === undefined ? (
        of.isLoading && <Skeleton lines={8} />
      ) : of.items.length === 0 ? (
        empty
      ) : (
        <Table {...table} rows={of.items} />
      )}
      {of.more && (
        <p class="foot">
          <button type="button" class="small" onClick={of.more}>
            Show more
          </button>
        </p>
      )}
    </>
  );
}
