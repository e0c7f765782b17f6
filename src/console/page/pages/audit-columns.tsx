import { Time } from '../kit/bits.tsx';
import type { Column } from '../kit/table.tsx';

export interface AuditEntry {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly operator: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly previous: string;
  readonly hash: string;
}

const detailsOf = ({ details }: AuditEntry): string =>
  Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');

export const auditColumns: readonly Column<AuditEntry>[] = [
  { name: 'No.', kind: 'number', cell: (it) => it.seq },
  { name: 'When', cell: (it) => <Time at={it.at} /> },
  { name: 'What', cell: (it) => <span class="tag">{it.kind}</span> },
  { name: 'Who', kind: 'extra', cell: (it) => <span class="clip by">{it.operator}</span> },
  {
    name: 'About',
    kind: 'wide',
    cell: (it) => (
      <span class="clip" title={`${it.subject} ${detailsOf(it)}`}>
        <span class="mono">{it.subject}</span> <span class="faint">{detailsOf(it)}</span>
      </span>
    ),
  },
];
