import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Meaning } from '../../src/core/call.ts';
import { categories } from '../../src/inspect/intent/model.ts';
import type { MeaningReader } from '../../src/inspect/intent/reader.ts';
import { loadCases } from '../score/corpus.ts';
import { makeSamples, type Sample } from './samples.ts';

/** What a reader is tried on. */
export interface Sources {
  readonly trainingDir: string;
  readonly heldOutDir: string;
  /** JSONL as `npm run score` reads it. */
  readonly corpus?: string | undefined;
  /** Markdown anywhere below it. */
  readonly texts?: string | undefined;
  /** Prints what was wrong, too. */
  readonly wrong?: boolean | undefined;
}

interface Answer {
  readonly text: string;
  readonly meanings: readonly Meaning[];
}

const textsMax = 5000;
const shownMax = 300;

/** Prints how well a reader tells. */
export function evaluate(reader: MeaningReader, sources: Sources): void {
  const ask = (text: string): Answer => ({ text, meanings: reader.read(Buffer.from(text), () => false) });
  for (const [title, dir] of [
    ['the training', sources.trainingDir],
    ['families that the training did not see', sources.heldOutDir],
  ] as const) {
    const answers = makeSamples(dir).map((sample) => ({ ...sample, ...ask(sample.text) }));
    console.log(`Texts of ${title}:`);
    console.table(tableOf(answers));
    if (sources.wrong) for (const answer of answers) if (!isRight(answer)) show(answer.family, answer);
  }
  const sets: (readonly [name: string, texts: readonly string[]])[] = [];
  if (sources.corpus) sets.push(...corpusIn(sources.corpus));
  if (sources.texts) sets.push(['Markdown', markdownIn(sources.texts)]);
  if (sets.length === 0) return;
  console.log('Texts in which something was found:');
  const rows = sets.map(([name, texts]) => {
    const found = texts.map(ask).filter(({ meanings }) => meanings.length > 0);
    if (sources.wrong) for (const answer of found) show(name, answer);
    return [name, rowOf(texts.length, found)] as const;
  });
  console.table(Object.fromEntries(rows));
}

const has = ({ meanings }: Answer, category: string): boolean =>
  meanings.some((it) => it.category === category);

const isRight = (answer: Sample & Answer): boolean =>
  answer.category ? has(answer, answer.category) : answer.meanings.length === 0;

function tableOf(answers: readonly (Sample & Answer)[]): Record<string, object> {
  const everyday = answers.filter(({ category }) => category === undefined);
  const table: Record<string, object> = {};
  for (const name of categories) {
    const wanted = answers.filter(({ category }) => category === name);
    const found = answers.filter((it) => has(it, name));
    const right = wanted.filter((it) => has(it, name)).length;
    table[name] = {
      texts: wanted.length,
      recall: rounded(right / wanted.length),
      precision: rounded(right / found.length),
      'false alarms': everyday.filter((it) => has(it, name)).length,
    };
  }
  const alarms = everyday.filter((it) => !isRight(it)).length;
  table['everyday'] = { texts: everyday.length, 'false alarms': alarms };
  return table;
}

function rowOf(texts: number, found: readonly Answer[]): Record<string, number> {
  const counts = categories.map((name) => [name, found.filter((it) => has(it, name)).length] as const);
  return { texts, found: found.length, share: rounded(found.length / texts), ...Object.fromEntries(counts) };
}

const rounded = (share: number): number => Math.round(share * 1000) / 1000;

function show(name: string, { text, meanings }: Answer): void {
  const found = meanings
    .map(({ category, score, details }) => `${category} ${score} (${details})`)
    .join('; ');
  console.log(`${name}: ${text.slice(0, shownMax)} -> ${found || 'nothing'}`);
}

/** The texts of a corpus, by their set. */
export function corpusIn(dir: string): [name: string, texts: string[]][] {
  const toText = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));
  const bySet = Map.groupBy(loadCases(dir), ({ set }) => set);
  return [...bySet].map(([set, cases]) => [set, cases.map(({ body }) => toText(body))]);
}

const markdownIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .slice(0, textsMax)
    .map((name) => readFileSync(join(dir, name), 'utf8'));
