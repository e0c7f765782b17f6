import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ShownAuditEntry } from '../../../api/answers.ts';
import { useNames } from '../data/agents.ts';
import { href } from '../data/route.ts';
import { Time } from '../kit/bits.tsx';
import type { Column } from '../kit/table.tsx';

type Names = ReadonlyMap<string, string>;

/** The page that shows the subject of an entry, by the first word of its kind. */
const pageOf: Readonly<Record<string, string>> = {
  agent: 'agents',
  approval: 'approvals',
  incident: 'incidents',
  key: 'keys',
  policy: 'policies',
};

const uuid = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** Returns the beginning of an id; any other text as it is. */
const shortened = (text: string): string => (uuid.test(text) ? text.slice(0, 8) : text);

function Subject({ of: { kind, subject }, names }: { of: ShownAuditEntry; names: Names }) {
  const page = pageOf[kind.split('.', 1)[0] ?? ''];
  const text = names.get(subject) ?? shortened(subject);
  return (
    <span class="mono" title={subject}>
      {page === undefined ? text : <a href={href([page, subject])}>{text}</a>}
    </span>
  );
}

function detailOf(name: string, value: unknown, names: Names): ComponentChildren {
  if (name === 'agent_id' && typeof value === 'string')
    return (
      <>
        agent <a href={href(['agents', value])}>{names.get(value) ?? shortened(value)}</a>
      </>
    );
  if (name === 'trace_id' && typeof value === 'string')
    return <a href={href(['activity', value])}>the call</a>;
  return `${name.replaceAll('_', ' ')} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`;
}

function Details({ of: { details }, names }: { of: ShownAuditEntry; names: Names }) {
  return (
    <span class="faint">
      {Object.entries(details)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <span key={name}> · {detailOf(name, value, names)}</span>
        ))}
    </span>
  );
}

/** Returns the columns of the log, with agents by their names. */
export function useAuditColumns(): readonly Column<ShownAuditEntry>[] {
  const names = useNames();
  return useMemo(
    () => [
      { name: 'No.', kind: 'number', cell: (it) => it.seq },
      { name: 'When', cell: (it) => <Time at={it.at} isClock /> },
      { name: 'What', cell: (it) => <span class="tag">{it.kind}</span> },
      { name: 'Who', kind: 'extra', cell: (it) => <span class="clip by">{it.operator}</span> },
      {
        name: 'About',
        kind: 'wide',
        cell: (it) => (
          <>
            <Subject of={it} names={names} />
            <Details of={it} names={names} />
          </>
        ),
      },
    ],
    [names],
  );
}
