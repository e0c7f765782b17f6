import { type Histogram, type NamedCounts, secondBounds } from './cells.ts';
import type { Counters } from './counters.ts';
import { type Family, type FamilyName, familyTexts, type Sample } from './families.ts';

/** Values by metric; a metric without values is left out. */
export type Samples = { readonly [Name in FamilyName]?: readonly Sample[] };

/** Looks up, at every collection, values that are not counted. */
export type Source = () => Samples | Promise<Samples>;

const none = {};

export const single = (value: number, labels: Readonly<Record<string, string>> = none): Sample => ({
  value,
  labels,
});

const named = (label: string, counts: NamedCounts, more: Readonly<Record<string, string>> = none): Sample[] =>
  [...counts.entries()].map(([name, count]) => single(count, { ...more, [label]: name }));

/** Returns the lines of a histogram with cumulative counts, as Prometheus wants them. */
function histogram(
  name: FamilyName,
  { counts, sum }: Histogram,
  labels: Readonly<Record<string, string>> = none,
): Sample[] {
  let below = 0;
  const lines = [...counts].map((count, at) => {
    below += count;
    const le = String(secondBounds[at] ?? '+Inf');
    return { metricName: `${name}_bucket`, value: below, labels: { ...labels, le } };
  });
  return [
    ...lines,
    { metricName: `${name}_sum`, value: sum, labels },
    { metricName: `${name}_count`, value: below, labels },
  ];
}

/** Returns all that was counted, as values. */
function samplesOf(counters: Counters): Samples {
  const { calls, reasons, authFailures, answers, stages, stateOk } = counters;
  return {
    postern_calls_total: [...calls].flatMap(([entrance, byDecision]) =>
      [...byDecision].flatMap(([decision, byBand]) => named('band', byBand, { entrance, decision })),
    ),
    postern_call_reasons_total: [...reasons].flatMap(([decision, it]) => named('reason', it, { decision })),
    postern_auth_failures_total: [...authFailures].flatMap(([entrance, it]) =>
      named('reason', it, { entrance }),
    ),
    postern_answer_findings_total: [...answers].flatMap(([outcome, it]) => named('reason', it, { outcome })),
    postern_messages_total: named('decision', counters.messages),
    postern_would_be_total: named('decision', counters.wouldBe),
    postern_unrecorded_calls_total: [single(counters.unrecorded)],
    postern_judgement_seconds: histogram('postern_judgement_seconds', counters.judgement),
    postern_stage_seconds: [...stages.entries()].flatMap(([stage, it]) =>
      histogram('postern_stage_seconds', it, { stage }),
    ),
    postern_upstream_seconds: histogram('postern_upstream_seconds', counters.upstream),
    postern_upstream_answers_total: named('class', counters.upstreamAnswers),
    postern_upstream_failures_total: named('code', counters.upstreamFailures),
    postern_reader_lost_total: named('cause', counters.readerLost),
    postern_reader_wait_seconds: histogram('postern_reader_wait_seconds', counters.readerWait),
    postern_reader_seconds: histogram('postern_reader_seconds', counters.readerWork),
    postern_state_seconds: histogram('postern_state_seconds', counters.state),
    postern_state_operations_total: [...stateOk].flatMap(([operation, { ok, failed }]) => [
      ...(ok > 0 ? [single(ok, { operation, outcome: 'ok' })] : []),
      ...(failed > 0 ? [single(failed, { operation, outcome: 'failed' })] : []),
    ]),
    postern_spans_total: named('outcome', counters.spans),
    postern_journal_problems_total: [single(counters.journalProblems)],
  };
}

async function ask(source: Source): Promise<Samples> {
  try {
    return await source();
  } catch {
    return none;
  }
}

/** Merges values and descriptions. A source that fails is left out, because the others matter more then. */
export async function collect(counters: Counters, sources: readonly Source[]): Promise<Family[]> {
  const all = [samplesOf(counters), ...(await Promise.all(sources.map(ask)))];
  return Object.entries(familyTexts).map(([name, text]) => ({
    aggregator: 'sum',
    ...text,
    name,
    values: all.flatMap((it) => it[name as FamilyName] ?? []),
  }));
}
