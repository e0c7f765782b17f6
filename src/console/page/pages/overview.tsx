import { Suspense } from 'preact/compat';
import type { Approval, CountedNames, Incident, Listing, Stats } from '../../../api/answers.ts';
import { decisions } from '../../../core/verdict.ts';
import { useNames } from '../data/agents.ts';
import { may } from '../data/api.ts';
import { useOne } from '../data/pages.ts';
import { go, href, place } from '../data/route.ts';
import { mayReadPending, pending } from '../data/waiting.ts';
import { reasonWord } from '../data/words.ts';
import {
  BandBadge,
  CallLink,
  Card,
  decisionWord,
  Empty,
  PageHead,
  Problem,
  Skeleton,
  Time,
} from '../kit/bits.tsx';
import { Legend } from '../kit/legend.tsx';
import { loaded } from '../kit/loaded.tsx';
import { FirstCall } from './first-call.tsx';

const Chart = loaded(() => import('../kit/chart.tsx'));

const ranges = {
  hour: { word: 'Last hour', interval: 'minute' },
  day: { word: 'Last 24 hours', interval: 'hour' },
  month: { word: 'Last 30 days', interval: 'day' },
} as const;
type RangeName = keyof typeof ranges;
const refreshMs = 5000;

/** Shows what goes on, and what waits for a person. */
export function Overview() {
  const asked = place.value.query['range'];
  const name: RangeName = asked !== undefined && Object.hasOwn(ranges, asked) ? (asked as RangeName) : 'hour';
  const range = ranges[name];
  const stats = useOne<Stats>('/v1/stats', { interval: range.interval, top: 6 }, { everyMs: refreshMs });
  const any = useOne<Listing<unknown>>(
    may('activity:read') ? '/v1/traces' : undefined,
    { limit: 1 },
    { everyMs: refreshMs },
  );
  if (any.data && any.data.items.length === 0 && any.data.next_cursor === null) return <FirstCall />;
  return (
    <>
      <PageHead title="Overview">
        <label class="row">
          <span class="hidden">Time shown</span>
          <select
            value={name}
            onChange={(event) => go(href('overview', { range: event.currentTarget.value }))}
          >
            {Object.entries(ranges).map(([id, { word }]) => (
              <option key={id} value={id}>
                {word}
              </option>
            ))}
          </select>
        </label>
      </PageHead>
      <Problem of={stats.problem} again={stats.reload} />
      {stats.data ? (
        <Numbers stats={stats.data} per={range.interval} />
      ) : (
        stats.isLoading && <Skeleton lines={10} />
      )}
    </>
  );
}

function Numbers({ stats, per }: { stats: Stats; per: string }) {
  const names = useNames();
  const approvals = pending.value ?? [];
  const hasIncidents = may('activity:read', 'incidents:write');
  const incidents = useOne<Listing<Incident>>(
    hasIncidents ? '/v1/incidents' : undefined,
    { status: 'open', limit: 5 },
    { everyMs: refreshMs, area: 'incident' },
  );
  const countOf = (decision: string) => stats.decisions.names.find((it) => it.name === decision)?.count ?? 0;
  const since = { from: stats.from };
  return (
    <>
      <div class="tiles">
        <a class="tile" href={href('activity', since)}>
          <strong>{stats.total.toLocaleString('en')}</strong>
          <span>Calls</span>
        </a>
        {decisions.map((decision) => (
          <a key={decision} class="tile" href={href('activity', { ...since, decision })}>
            <strong>{countOf(decision).toLocaleString('en')}</strong>
            <span>{decisionWord(decision)}</span>
          </a>
        ))}
        {mayReadPending() && (
          <a class={approvals.length > 0 ? 'tile warn' : 'tile'} href={href('approvals')}>
            <strong>{approvals.length}</strong>
            <span>Waiting for a person</span>
          </a>
        )}
      </div>
      <Card title={`Calls per ${per}`} actions={<Legend />}>
        <Suspense fallback={<div class="chart" />}>
          <Chart stats={stats} />
        </Suspense>
      </Card>
      <div class="grid two">
        {mayReadPending() && <WaitingApprovals approvals={approvals.slice(0, 5)} />}
        {hasIncidents && <OpenIncidents incidents={incidents.data?.items ?? []} />}
      </div>
      <div class="grid">
        <Bars
          title="Reasons"
          of={stats.reasons}
          word={reasonWord}
          link={(reason) => href('activity', { ...since, reason })}
        />
        <Bars
          title="Tools"
          of={stats.tools}
          link={(tool_name) => href('activity', { ...since, tool_name })}
        />
        <Bars
          title="Agents"
          of={stats.agents}
          word={(id) => names.get(id) ?? id.slice(0, 8)}
          link={(id) => href(['agents', id])}
        />
        <Bars
          title="Risk"
          of={stats.bands}
          word={bandWord}
          link={(band) => href('activity', { ...since, band })}
        />
      </div>
    </>
  );
}

const bandWord = (band: string): string => band.charAt(0) + band.slice(1).toLowerCase();

function WaitingApprovals({ approvals }: { approvals: readonly Approval[] }) {
  return (
    <Card title="Waiting for a person" actions={<a href={href('approvals')}>All approvals</a>}>
      {approvals.length === 0 ? (
        <p class="hint">No call is held. A rule with action REQUIRE_APPROVAL, or a high risk, holds one.</p>
      ) : (
        <ul class="bars waiting calls">
          {approvals.map((it) => (
            <li key={it.approval_id}>
              <CallLink of={it} to={href(['approvals', it.approval_id])} />
              <span class="faint clip">
                <Time at={it.created_at} /> · {it.agent_name}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function OpenIncidents({ incidents }: { incidents: readonly Incident[] }) {
  return (
    <Card title="Open incidents" actions={<a href={href('incidents')}>All incidents</a>}>
      {incidents.length === 0 ? (
        <p class="hint">No incident is open.</p>
      ) : (
        <ul class="bars waiting">
          {incidents.map((it) => (
            <li key={it.incident_id}>
              <a class="clip" href={href(['incidents', it.incident_id])}>
                {it.title}
              </a>
              <span class="faint">
                <BandBadge of={it.severity} /> · <Time at={it.opened_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

interface BarsOf {
  readonly title: string;
  readonly of: CountedNames;
  readonly word?: (name: string) => string;
  readonly link: (name: string) => string;
}

function Bars({ title, of, word = (name) => name, link }: BarsOf) {
  const max = Math.max(1, ...of.names.map((it) => it.count));
  return (
    <Card title={title}>
      {of.names.length === 0 && <Empty title="Nothing yet" />}
      <ul class="bars">
        {of.names.slice(0, 6).map(({ name, count }) => (
          <li key={name}>
            <a class="clip" href={link(name)} title={name}>
              {word(name)}
            </a>
            <span class="number">{count.toLocaleString('en')}</span>
            <meter min={0} max={max} value={count} aria-hidden="true" />
          </li>
        ))}
        {of.other > 0 && (
          <li>
            <span class="faint">Others</span>
            <span class="number faint">{of.other.toLocaleString('en')}</span>
          </li>
        )}
      </ul>
    </Card>
  );
}
