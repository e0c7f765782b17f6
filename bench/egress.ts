// How much of the public agent-egress-bench (github.com/luckyPipewrench/agent-egress-bench) a gateway stops, and how much
// of what is benign. Each case goes through a real gateway to a real upstream. `node bench/egress.ts CASES [part of an id]`
import { readCases } from './egress/cases.ts';
import { startEgressLab } from './egress/gateway.ts';
import { isStopped } from './egress/try-case.ts';
import { withTeardown } from './with-teardown.ts';

const [folder, part = ''] = process.argv.slice(2);
if (folder === undefined) throw new Error('Say where its cases are: node bench/egress.ts CASES');
const cases = readCases(folder).filter(({ id }) => id.includes(part));

await withTeardown(async (bench) => {
  const lab = await startEgressLab(bench, cases);
  const wrong: string[] = [];
  const table = new Map<
    string,
    { attacks: number; stopped: number; benign: number; 'benign stopped': number }
  >();
  const add = (row: string, isAttack: boolean, stopped: boolean): void => {
    const count = table.get(row) ?? { attacks: 0, stopped: 0, benign: 0, 'benign stopped': 0 };
    table.set(row, count);
    count[isAttack ? 'attacks' : 'benign']++;
    if (stopped) count[isAttack ? 'stopped' : 'benign stopped']++;
  };
  for (const [at, it] of cases.entries()) {
    const isAttack = it.expected_verdict === 'block';
    const stopped = await isStopped(it, lab, await lab.keyFor(at));
    if (stopped !== isAttack) wrong.push(`${stopped ? 'stopped' : 'passed '} ${it.id}: ${it.title}`);
    for (const row of [it.category, 'all']) add(row, isAttack, stopped);
  }
  console.table(Object.fromEntries(table));
  console.log(wrong.join('\n'));
});
