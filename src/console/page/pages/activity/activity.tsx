import { useEffect, useRef, useState } from 'preact/hooks';
import type { TraceRow } from '../../../../api/answers.ts';
import { apiUrl } from '../../data/api.ts';
import { go, href, place, replacePlace } from '../../data/route.ts';
import { rowsMax, traceFilters, useTraces } from '../../data/traces.ts';
import {
  BandBadge,
  CallLink,
  DecisionBadge,
  Empty,
  PageHead,
  Problem,
  Skeleton,
  Time,
} from '../../kit/bits.tsx';
import { stepOf, useKeyPress } from '../../kit/key-press.ts';
import type { Column } from '../../kit/table.tsx';
import { WindowedTable } from '../../kit/windowed-table.tsx';
import { Filters } from './filters.tsx';
import { TraceDetail } from './trace-detail.tsx';
import { whyOf } from './why.ts';
import '../../style/activity.css';

const columns: readonly Column<TraceRow>[] = [
  { name: 'Time', cell: (it) => <Time at={it.at} isClock /> },
  { name: 'Decision', cell: (it) => <DecisionBadge of={it.decision} /> },
  {
    name: 'Agent',
    kind: 'extra',
    cell: (it) => <span class="clip agent-cell">{it.agent_name ?? it.agent_id.slice(0, 8)}</span>,
  },
  {
    name: 'Call',
    kind: 'wide',
    cell: (it) => <CallLink of={it} to={href(['activity', it.trace_id], place.value.query)} />,
  },
  {
    name: 'Why',
    kind: 'extra',
    cell: (it) => (
      <span class="clip" title={it.reason_codes?.join(', ')}>
        {whyOf(it)}
      </span>
    ),
  },
  {
    name: 'Risk',
    kind: 'extra',
    cell: (it) => it.risk_band && <BandBadge of={it.risk_band} score={it.risk_score} />,
  },
];

/** Shows all calls, newest first, as they come. */
export default function Activity() {
  const { query, parts } = place.value;
  const [chosen] = parts;
  const filters = traceFilters(query);
  const [isPaused, setPaused] = useState(false);
  const isAtTop = useRef(true);
  const traces = useTraces(filters, isPaused);
  const { fresh, rows } = traces;
  useEffect(() => {
    if (fresh.length > 0 && isAtTop.current) traces.take();
  }, [fresh]);
  const choose = (it: TraceRow) => go(href(['activity', it.trace_id], query));
  // One step back in the history leaves all calls that the keys went through.
  const step = (it: TraceRow) =>
    (chosen === undefined ? go : replacePlace)(href(['activity', it.trace_id], query));
  // The keys j and k go through the list, and Escape closes the detail.
  useKeyPress(({ key }) => {
    if (key === 'Escape' && chosen !== undefined) return go(href('activity', query));
    const by = stepOf(key);
    if (by === 0 || !rows) return;
    const index = rows.findIndex((it) => it.trace_id === chosen);
    const next = rows[index === -1 ? 0 : index + by];
    if (next) step(next);
  });
  return (
    <div class={chosen === undefined ? 'activity' : 'activity with-detail'}>
      <div class="list-side">
        <PageHead title="Activity">
          <span class={traces.isLive ? 'live on' : 'live'} role="status">
            {isPaused ? 'Paused' : (whyNotLive(filters) ?? (traces.isLive ? 'Live' : 'Connecting…'))}
          </span>
          <button type="button" class="small" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? 'Go on' : 'Pause'}
          </button>
          <a
            class="button plain small"
            href={apiUrl('/v1/traces/export', { ...filters, format: 'csv' })}
            download="traces.csv"
          >
            Export CSV
          </a>
        </PageHead>
        <Filters filters={filters} />
        <Problem of={traces.problem} again={traces.reload} />
        {rows === undefined ? (
          traces.isLoading && <Skeleton lines={14} />
        ) : rows.length === 0 ? (
          <NoCalls isFiltered={Object.keys(filters).length > 0} />
        ) : (
          <div class="list-box">
            {fresh.length > 0 && (
              <button
                type="button"
                class="small fresh"
                onClick={() => {
                  traces.take();
                  document.querySelector('.windowed')?.scrollTo(0, 0);
                }}
              >
                {fresh.length} new {fresh.length === 1 ? 'call' : 'calls'} ↑
              </button>
            )}
            <WindowedTable
              label="Calls, newest first"
              columns={columns}
              rows={rows}
              keyOf={(it) => it.trace_id}
              chosen={chosen}
              onChoose={choose}
              onEnd={traces.more}
              onTop={(it) => {
                isAtTop.current = it;
                if (it && traces.fresh.length > 0) traces.take();
              }}
              foot={<Foot rows={rows.length} hasMore={traces.hasMore} />}
            />
          </div>
        )}
      </div>
      {chosen !== undefined && <TraceDetail key={chosen} traceId={chosen} back={href('activity', query)} />}
    </div>
  );
}

/** Says why new calls do not come by themselves; undefined where they do. */
function whyNotLive(filters: Readonly<Record<string, string>>): string | undefined {
  if (filters['to']) return 'A past time';
  return filters['answer'] ? 'Not live' : undefined;
}

function Foot({ rows, hasMore }: { rows: number; hasMore: boolean }) {
  if (rows >= rowsMax)
    return (
      <p class="foot">{rowsMax.toLocaleString('en')} calls are shown. Filter further, or export them all.</p>
    );
  return (
    <p class="foot">
      {hasMore
        ? 'Older calls are being read…'
        : `${rows.toLocaleString('en')} calls; there are no older ones.`}
    </p>
  );
}

function NoCalls({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty title="No call fits these filters.">
        <a href={href('activity')}>Show all calls</a>
      </Empty>
    );
  return (
    <Empty title="No call has come through yet.">
      <a href={href('overview')}>Send one through the proxy</a>, and it appears here.
    </Empty>
  );
}
