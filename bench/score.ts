/*
 * How well does it find? Scores a labelled corpus, given as a folder of JSONL files (docs/detection.md says what a line holds), on a
 * gateway of its own: `npm run score -- DIR`. Prints precision and recall by class, the share found of every kind, false alarms by
 * set, evasions by level, and how many redacted bodies still show something when they are read again. `--wrong FILE` writes the ids
 * of what was wrong. Then comes what each family of detectors and each decoder costs on real content, and how many points of the corpus
 * it brings; `--no-prices` leaves that out. Exits with 1 where something redacted is found again.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Asker, openGateway } from './score/ask.ts';
import { type Case, isPositive, loadCases } from './score/corpus.ts';
import { pricesOf } from './score/prices.ts';
import { Score } from './score/tally.ts';

const askedAtOnce = 8;
/** What posture redacts here. */
const redactedClasses = ['SECRETS', 'PII', 'PHI'];

const { values, positionals } = parseArgs({
  options: { wrong: { type: 'string' }, 'no-prices': { type: 'boolean' }, seed: { type: 'string' } },
  allowPositionals: true,
});
const [dir = process.env['CORPUS_DIR']] = positionals;
if (dir === undefined) {
  console.error('Name the folder of the corpus: npm run score -- DIR [--wrong FILE] [--no-prices]');
  process.exit(2);
}

const cases = loadCases(dir);
const score = new Score();
const foundAgain: string[] = [];
const gateway = await openGateway();
try {
  await inParallel(cases, async (wanted) => {
    const answer = await gateway.ask(wanted);
    score.add(wanted, answer);
    if (answer.sanitized !== undefined && isPositive(wanted))
      await askAgain(gateway, wanted, answer.sanitized);
  });
} finally {
  await gateway.close();
}
report();
if (values.wrong)
  writeFileSync(values.wrong, score.wrong.map(({ id, set, kind }) => `${id} ${set} ${kind}\n`).join(''));
if (values['no-prices'] !== true) reportPrices();
process.exitCode = foundAgain.length > 0 ? 1 : 0;

/** The dearest first. */
function reportPrices(): void {
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
  const { families, decoders, search } = pricesOf(cases, seed);
  console.log(
    `Prices on texts of installed packages (seed ${seed}); the search takes ${search.toFixed(1)} us per KB.`,
  );
  for (const [what, prices] of Object.entries({ decoder: decoders, family: families })) {
    const dearest = prices.toSorted((a, b) => b.usPerKb - a.usPerKb);
    console.table(
      Object.fromEntries(
        dearest.map(({ name, usPerKb, points }) => [
          `${what} ${name}`,
          { 'us per KB': Number(usPerKb.toFixed(2)), points: Number(points.toFixed(2)) },
        ]),
      ),
    );
  }
}

/** A redacted body that is read again must be clean, and stay as it is. */
async function askAgain(asker: Asker, wanted: Case, sanitized: string): Promise<void> {
  const again = await asker.ask({ ...wanted, body: sanitized });
  const left = again.classes.filter((name) => redactedClasses.includes(name));
  if (left.length > 0) foundAgain.push(`${wanted.id} ${wanted.set} ${wanted.kind}: ${left.join()}`);
}

async function inParallel(all: readonly Case[], take: (it: Case) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let it = all[next++]; it !== undefined; it = all[next++]) await take(it);
  };
  await Promise.all(Array.from({ length: askedAtOnce }, work));
}

function report(): void {
  console.log(`${cases.length} bodies. By class, in the core sets:`);
  console.table(Object.fromEntries([...score.classes].map(([name, tally]) => [name, rounded(tally.row)])));
  const { falsePositives } = score.injection;
  console.table({
    injection: rounded({ ...score.injection.row, 'false alarms': falsePositives / score.injectionNegatives }),
  });
  console.log('Evasions found, by level:');
  printShares(score.evasions);
  console.log('Bodies of negative sets in which something was found:');
  printShares(score.falseAlarms);
  console.log('Redacted bodies in which nothing labelled is left:');
  printShares(score.redacted);
  console.log('Found of every kind:');
  printShares(score.kinds);
  console.log(`Redacted bodies in which something is found again: ${foundAgain.length}`);
  for (const line of foundAgain.slice(0, 50)) console.log(`  ${line}`);
}

function rounded(row: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Math.round(value * 10_000) / 10_000]),
  );
}

function printShares(shares: ReadonlyMap<string, { readonly count: number; readonly hits: number }>): void {
  const rows = [...shares].sort(([a], [b]) => (a < b ? -1 : 1));
  console.table(
    Object.fromEntries(
      rows.map(([name, { count, hits }]) => [name, rounded({ of: count, count: hits, share: hits / count })]),
    ),
  );
}
