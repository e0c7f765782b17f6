import { bands, type Signal } from '../../src/call.ts';
import type { Attack, Expected } from './attacks/index.ts';
import type { Outcome } from './play.ts';

/* What the week has shown, for people. */

export interface AttackResult {
  readonly attack: Attack;
  readonly calls: number;
  /** Calls that raised one of the expected signals. */
  readonly flagged: number;
  /** Which of the signals those were. */
  readonly by: readonly string[];
  /** Of its calls, the first that was flagged, from 1 on; undefined where none was. */
  readonly first: number | undefined;
}

const isExpected = (signal: Signal, { signal: name, details }: Expected): boolean =>
  signal.name === name && (details?.test(signal.details) ?? true);

export function resultOf(attack: Attack, outcomes: readonly Outcome[]): AttackResult {
  const own = outcomes.filter(({ call }) => call.attack === attack.name);
  const raised = own.map(({ signals }) =>
    signals.filter((it) => attack.expected.some((expected) => isExpected(it, expected))),
  );
  const first = raised.findIndex((it) => it.length > 0);
  return {
    attack,
    calls: own.length,
    flagged: raised.filter((it) => it.length > 0).length,
    by: [...new Set(raised.flat().map((it) => it.name))],
    first: first < 0 ? undefined : first + 1,
  };
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
  const bySignal = new Map<string, number>();
  for (const name of clean.flatMap(({ signals }) => [...new Set(signals.map((it) => it.name))]))
    bySignal.set(name, (bySignal.get(name) ?? 0) + 1);
  return {
    calls: clean.length,
    byBand: new Map(bands.map((band) => [band, clean.filter((it) => it.band === band).length])),
    bySignal,
    alarms: clean.filter(({ band }) => band === 'HIGH' || band === 'CRITICAL'),
  };
}

const share = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(2)} %`;

export function* attackTable(results: readonly AttackResult[]): Generator<string> {
  yield row('attack', ['calls', 'flagged', 'first'], 'signal');
  for (const { attack, calls, flagged, first, by } of results) {
    const wanted = attack.expected.map((it) => it.signal).join(' or ');
    yield row(
      attack.name,
      [calls, flagged, first ?? '-'],
      by.length > 0 ? by.join(', ') : `none, not ${wanted}`,
    );
  }
}

export function* cleanTable({ calls, byBand, bySignal, alarms }: CleanResult): Generator<string> {
  yield row('clean calls', [calls], '');
  for (const [band, count] of byBand) yield row(`  ${band}`, [count], share(count, calls));
  for (const [name, count] of bySignal) yield row(`  with ${name}`, [count], share(count, calls));
  yield row('false HIGH or CRITICAL', [alarms.length], share(alarms.length, calls));
  for (const { call, band, signals, decision } of alarms.slice(0, 40))
    yield `  ${band} ${decision} ${new Date(call.atMs).toISOString()} ${call.agent.name} ${call.method} ${call.url.slice(0, 80)}: ${signals.map((it) => `${it.name} (${it.details.slice(0, 120)})`).join('; ')}`;
}

const row = (name: string, numbers: readonly (number | string)[], rest: string): string =>
  `${name.padEnd(48)}${numbers.map((it) => String(it).padStart(8)).join('')}  ${rest}`;
