import type { ComponentChildren } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Cells, type Column, Head } from './table.tsx';

/* Draws only the rows in sight of a long table. The style sheet gives all rows the same height. */

const spare = 8;
/** Rows by which the window moves, so that most scrolling draws nothing anew. */
const step = 8;

interface WindowedTableOf<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly chosen: string | undefined;
  readonly onChoose: (row: T) => void;
  /** Is called when the end comes into sight. */
  readonly onEnd: () => void;
  readonly onTop?: (isAtTop: boolean) => void;
  readonly foot?: ComponentChildren;
}

export function WindowedTable<T>(props: WindowedTableOf<T>) {
  const { label, columns, rows, keyOf, chosen, onChoose, onEnd, onTop, foot } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ from: 0, to: 48, row: 34 });
  const measure = () => {
    const { current } = box;
    if (!current) return;
    const { scrollTop: top, clientHeight: height } = current;
    const row = current.querySelector<HTMLElement>('tbody tr[data-row]')?.offsetHeight || 34;
    const from = Math.max(0, Math.floor(top / row / step) * step - spare);
    const to = Math.ceil((top + height) / row / step) * step + spare;
    setView((it) => (it.from === from && it.to === to && it.row === row ? it : { from, to, row }));
    onTop?.(top < row);
    if (top + height > (rows.length - 12) * row) onEnd();
  };
  const latest = useRef(measure);
  latest.current = measure;
  useEffect(() => {
    const sized = new ResizeObserver(() => latest.current());
    if (box.current) sized.observe(box.current);
    return () => sized.disconnect();
  }, []);
  useEffect(() => latest.current(), [rows]);
  useKeptPlace(box, rows, keyOf, view.row);
  useEffect(() => {
    const { current } = box;
    const index = chosen === undefined ? -1 : rows.findIndex((it) => keyOf(it) === chosen);
    if (!current || index < 0) return;
    // The chosen row stands below the head, which stays at the top, and with a row beside it.
    const head = current.querySelector('thead')?.offsetHeight ?? 0;
    const top = Math.max(0, index - 1) * view.row;
    const bottom = (index + 2) * view.row + head - current.clientHeight;
    if (current.scrollTop > top) current.scrollTop = top;
    else if (current.scrollTop < bottom) current.scrollTop = bottom;
  }, [chosen]);
  const to = Math.min(rows.length, view.to);
  const from = Math.min(view.from, Math.max(0, to - step));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section class="table-box windowed" ref={box} tabIndex={0} aria-label={label} onScroll={measure}>
      <table class="dense" aria-rowcount={rows.length + 1}>
        <Head columns={columns} />
        <tbody>
          <Gap height={from * view.row} columns={columns.length} />
          {rows.slice(from, to).map((row, index) => {
            const key = keyOf(row);
            return (
              <tr
                key={key}
                data-row
                aria-rowindex={from + index + 2}
                class={key === chosen ? 'chosen' : undefined}
                onClick={() => onChoose(row)}
              >
                <SameCells columns={columns} row={row} />
              </tr>
            );
          })}
          <Gap height={(rows.length - to) * view.row} columns={columns.length} />
        </tbody>
      </table>
      {foot}
    </section>
  );
}

/** Cells that are drawn once for each row, since a row never changes. */
const SameCells = memo(Cells) as typeof Cells;

/** Scrolls along when rows come in above, so that what is being read stays in its place. */
function useKeptPlace<T>(
  box: { readonly current: HTMLElement | null },
  rows: readonly T[],
  keyOf: (row: T) => string,
  height: number,
): void {
  const firstKey = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const before = firstKey.current;
    firstKey.current = rows[0] === undefined ? undefined : keyOf(rows[0]);
    if (before === undefined || before === firstKey.current || !box.current) return;
    const added = rows.findIndex((it) => keyOf(it) === before);
    if (added > 0 && box.current.scrollTop >= height) box.current.scrollTop += added * height;
  }, [rows]);
}

function Gap({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    <tr class="gap">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}
