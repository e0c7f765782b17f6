import t, { type Test } from 'tap';
import { startGateways } from './gateways.ts';
import { type Outcome, play } from './play.ts';
import { attackTable, cleanResult, cleanTable, resultOf } from './table.ts';
import { planWeek } from './week.ts';

/*
 * A week of twenty agents, with attacks planted in it: each attack raises its signal, and who does nothing wrong is left alone. Then the
 * same week through several daemons that share one Redis: they see what one sees.
 */

const falseAlarmShareMax = 0.005;
const week = planWeek('postern');

/** Undefined where the machine lacks Redis. */
async function livedBy(t: Test, daemons: number): Promise<readonly Outcome[] | undefined> {
  const gateways = await startGateways(t, week, daemons);
  if (!gateways) return undefined;
  const outcomes = await play(week, gateways);
  const last = week.calls.at(-1)?.atMs ?? 0;
  const path = '/v1/keys?tenant_id=acme';
  const { body } = await gateways.ask(0, { atMs: last, method: 'GET', path, authorization: gateways.admin });
  const seen = body.items.map((it: { last_seen: string }) => Date.parse(it.last_seen));
  t.equal(Math.max(...seen), last, 'the state goes by the time of the week');
  t.same(gateways.errors(), [], 'and nothing goes wrong in a daemon');
  return outcomes;
}

/** What must be the same whoever judges: which call, which signals, which decision. */
const shown = (outcomes: readonly Outcome[]): string[] =>
  outcomes.flatMap(({ call, decision, band, signals }, at) =>
    signals.length === 0
      ? []
      : `${at} ${call.agent.name} ${call.method} ${call.url}: ${decision} ${band} ${signals
          .map((it) => it.name)
          .sort()
          .join(' ')}`,
  );

t.test('the week is the same whenever it is planned, and another one for another seed', async (t) => {
  const toText = (seed: string): string => JSON.stringify(planWeek(seed));
  t.ok(toText('postern') === JSON.stringify(week));
  t.not(toText('another').length, JSON.stringify(week).length);
  const agents = new Set(week.calls.map(({ agent }) => agent.id));
  t.equal(agents.size, 20);
});

let alone: readonly Outcome[] | undefined;

t.test('each planted attack raises its signal, and clean calls hardly ever raise an alarm', async (t) => {
  alone = await livedBy(t, 1);
  if (!alone) throw new Error('the week was not lived');
  const results = week.attacks.map((it) => resultOf(it, alone ?? []));
  const clean = cleanResult(alone);
  for (const line of [...attackTable(results), ...cleanTable(clean)]) t.comment(line);
  for (const { attack, flagged } of results) t.ok(flagged > 0, attack.name);
  t.ok(clean.alarms.length / clean.calls <= falseAlarmShareMax, 'false HIGH or CRITICAL: at most 0.5 %');
});

t.test('two daemons on one Redis raise the same signals', async (t) => {
  const together = await livedBy(t, 2);
  if (!together) return;
  const [one, two] = [shown(alone ?? []), shown(together)];
  const [ofOne, ofTwo] = [new Set(one), new Set(two)];
  t.strictSame(
    one.filter((it) => !ofTwo.has(it)),
    [],
    'nothing that one daemon sees is lost on two',
  );
  t.strictSame(
    two.filter((it) => !ofOne.has(it)),
    [],
    'nothing that one daemon does not see is seen by two',
  );
});
