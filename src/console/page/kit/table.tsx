import type { ComponentChildren } from 'preact';

export interface Column<T> {
  readonly name: string;
  readonly cell: (row: T) => ComponentChildren;
  /** The layout: `number` stands at the right, `wide` takes the rest, `extra` is absent on narrow screens. */
  readonly kind?: 'number' | 'wide' | 'extra' | 'extra number';
}

interface TableOf<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly isChosen?: (row: T) => boolean;
  /** Set to give the wide column a line of its own on narrow screens. */
  readonly stacks?: boolean;
}

/** Shows a table of few rows. Lists that can be long have a window (`windowed-table.tsx`). */
export function Table<T>({ label, columns, rows, keyOf, isChosen, stacks }: TableOf<T>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section class={stacks ? 'table-box stacks' : 'table-box'} tabIndex={0} aria-label={label}>
      <table class="dense">
        <Head columns={columns} />
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={isChosen?.(row) ? 'chosen' : undefined}>
              <Cells columns={columns} row={row} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Head<T>({ columns }: { columns: readonly Column<T>[] }) {
  return (
    <thead>
      <tr>
        {columns.map((it) => (
          <th key={it.name} scope="col" class={it.kind}>
            {it.name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export function Cells<T>({ columns, row }: { columns: readonly Column<T>[]; row: T }) {
  return (
    <>
      {columns.map((it) => (
        <td key={it.name} class={it.kind}>
          {it.cell(row)}
        </td>
      ))}
    </>
  );
}
