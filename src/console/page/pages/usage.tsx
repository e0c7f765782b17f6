import { Suspense } from 'preact/compat';
import type { Stats, Usage } from '../../../api/answers.ts';
import { useOne } from '../data/pages.ts';
import { toDay } from '../data/times.ts';
import { Card, Facts, PageHead, Problem, Skeleton } from '../kit/bits.tsx';
import { Legend } from '../kit/legend.tsx';
import { loaded } from '../kit/loaded.tsx';

const Chart = loaded(() => import('../kit/chart.tsx'));

/** Shows what was used of the plan, and how it goes on. */
export default function UsagePage() {
  const usage = useOne<Usage>('/v1/usage', {}, { everyMs: 10_000 });
  const days = useOne<Stats>('/v1/stats', { interval: 'day' }, { everyMs: 60_000 });
  const it = usage.data;
  return (
    <>
      <PageHead title="Usage" />
      <Problem of={usage.problem ?? days.problem} again={usage.reload} />
      {usage.isLoading && <Skeleton lines={5} />}
      {it && (
        <div class="grid two">
          <Card title="This period">
            <Quota of={it} />
          </Card>
          <Card title="Plan">
            <Facts
              of={[
                ['Name', it.plan],
                ['Rate', `${it.current_rate_per_min.toLocaleString('en')} calls in this minute`],
                ['Over its rate', `${it.rate_limit_hits_24h.toLocaleString('en')} calls denied in 24 h`],
                ['Period', `${toDay(Date.parse(it.period_start))} until ${toDay(Date.parse(it.period_end))}`],
              ]}
            />
          </Card>
        </div>
      )}
      {days.data && (
        <section class="section-gap">
          <Card title="Calls per day, 30 days" actions={<Legend />}>
            <Suspense fallback={<div class="chart" />}>
              <Chart stats={days.data} />
            </Suspense>
          </Card>
        </section>
      )}
    </>
  );
}

function Quota({ of: it }: { of: Usage }) {
  const used = it.scans_used.toLocaleString('en');
  const forecast = it.forecast_period_total.toLocaleString('en');
  const end = toDay(Date.parse(it.period_end));
  if (it.scans_limit === null)
    return (
      <p>
        <strong>{used}</strong> calls so far, of an unlimited plan. At this pace it will be {forecast} by{' '}
        {end}.
      </p>
    );
  const limit = it.scans_limit.toLocaleString('en');
  return (
    <div class="stack">
      <p>
        <strong>{used}</strong> of {limit} calls are used.{' '}
        {it.forecast_period_total > it.scans_limit
          ? `At this pace it would be ${forecast} by ${end}: the quota will not last.`
          : `At this pace it will be ${forecast} by ${end}.`}
      </p>
      <progress
        max={it.scans_limit}
        value={Math.min(it.scans_used, it.scans_limit)}
        aria-label="Share of the quota that is used"
      />
    </div>
  );
}
