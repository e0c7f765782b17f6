import { bands, type Signal } from '../../src/core/call.ts';
import type { Attack, Expected } from './attacks/index.ts';
import type { Outcome } from './play.ts';

/* What the week has shown, for people. */

export interface AttackResult {
  readonly attack: Attack;
  readonly calls: number;
  /** Calls that raised one of the expected signals. */
  readonly flagged: number;
  /** How many of them raised which. */
  readonly by: ReadonlyMap<string, number>;
  /** Of its calls, the first that was flagged, from 1 on; undefined where none was. */
  readonly first: number | undefined;
}

/** The expected signals among those of one call. */
const raisedOf = (signals: readonly Signal[], expected: readonly Expected[]): readonly string[] =>
  expected
    .filter(({ signal, details, beside }) => {
      const isThere = signals.some((it) => it.name === signal && (details?.test(it.details) ?? true));
      return isThere && (beside === undefined || signals.some((it) => it.name === beside));
    })
    .map((it) => it.signal);

export function resultOf(attack: Attack, outcomes: readonly Outcome[]): AttackResult {
  const own = outcomes.filter(({ call }) => call.attack === attack.name);
  const raised = own.map(({ signals }) => raisedOf(signals, attack.expected));
  const first = raised.findIndex((it) => it.length > 0);
  return {
    attack,
    calls: own.length,
    flagged: raised.filter((it) => it.length > 0).length,
    by: countOf(raised.flat()),
    first: first < 0 ? undefined : first + 1,
  };
}

function countOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

export interface CleanResult {
  readonly calls: number;
  readonly byBand: ReadonlyMap<string, number>;
  /** Calls that raised the signal. */
  readonly bySignal: ReadonlyMap<string, number>;
  /** Calls of which an analyst would hear for nothing. */
  readonly alarms: readonly Outcome[];
}

export function cleanResult(outcomes: readonly Outcome[]): CleanResult {
  const clean = outcomes.filter(({ call }) => call.attack === undefined);
  return {
    calls: clean.length,
    byBand: new Map(bands.map((band) => [band, clean.filter((it) => it.band === band).length])),
    bySignal: countOf(clean.flatMap(({ signals }) => [...new Set(signals.map((it) => it.name))])),
    alarms: clean.filter(({ band }) => band === 'HIGH' || band === 'CRITICAL'),
  };
}

const share = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(2)} %`;

export function* attackTable(results: readonly AttackResult[]): Generator<string> {
  yield row('attack', ['calls', 'flagged', 'first'], 'by');
  for (const { attack, calls, flagged, first, by } of results) {
    const raised = [...by].map(([name, count]) => `${name} ${count}`).join(', ');
    const missed = `not ${attack.expected.map((it) => it.signal).join(' or ')}`;
    yield row(attack.name, [calls, flagged, first ?? '-'], raised || missed);
  }
}

const shownAlarmsMax = 20;

export function* cleanTable({ calls, byBand, bySignal, alarms }: CleanResult): Generator<string> {
  yield row('clean calls', [calls], '');
  for (const [band, count] of byBand) yield row(`  ${band}`, [count], share(count, calls));
  for (const [name, count] of bySignal) yield row(`  with ${name}`, [count], share(count, calls));
  yield row('false HIGH or CRITICAL', [alarms.length], share(alarms.length, calls));
  for (const alarm of alarms.slice(0, shownAlarmsMax)) yield `  ${describe(alarm)}`;
}

function describe({ call, band, decision, signals }: Outcome): string {
  const { atMs, agent, method, url } = call;
  const why = signals.map((it) => `${it.name}: ${it.details.slice(0, 120)}`).join('; ');
  return `${band} ${decision} ${new Date(atMs).toISOString()} ${agent.name} ${method} ${url.slice(0, 80)} (${why})`;
}

const row = (name: string, numbers: readonly (number | string)[], rest: string): string =>
  `${name.padEnd(48)}${numbers.map((it) => String(it).padStart(8)).join('')}  ${rest}`.trimEnd();
