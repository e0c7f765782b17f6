import { basename } from 'node:path';
import { Features } from '../../src/inspect/intent/features.ts';
import { lexiconOf } from '../../src/inspect/intent/lexicon.ts';
import { createModel } from '../../src/inspect/intent/model.ts';
import { createMeaningReader, filtersOf, readMeanings } from '../../src/inspect/intent/reader.ts';
import { SentenceReader } from '../../src/inspect/intent/sentences.ts';
import { corpusIn } from './evaluate.ts';
import { makeSamples } from './samples.ts';

const never = (): boolean => false;

/**
 * Prints which share of the sentences the filter leaves to be weighed, and how many texts mean something else with it than without: none, or
 * the process ends with 1.
 */
export function compareFiltered(
  dataDir: string,
  sampleDirs: readonly string[],
  corpus: string | undefined,
): void {
  const { lexicon, weights, covers } = readMeanings(dataDir);
  const features = new Features(lexiconOf(lexicon));
  const model = createModel(weights, features);
  const filters = filtersOf(covers);
  const all = createMeaningReader(features, model);
  const filtered = createMeaningReader(features, model, filters);
  const samples = sampleDirs.map((dir) => [basename(dir), makeSamples(dir).map(({ text }) => text)] as const);
  const rows = [...samples, ...(corpus ? corpusIn(corpus) : [])].map(([name, texts]) => {
    let [sentences, weighed, differing] = [0, 0, 0];
    const countAll = new SentenceReader(() => {
      sentences += 1;
    });
    const countWeighed = new SentenceReader((sentence) => {
      if (filters.second.passes(sentence)) weighed += 1;
    }, filters.first);
    for (const bytes of texts.map((text) => Buffer.from(text))) {
      countAll.read(bytes, never);
      countWeighed.read(bytes, never);
      if (JSON.stringify(all.read(bytes, never)) !== JSON.stringify(filtered.read(bytes, never)))
        differing += 1;
    }
    if (differing > 0) process.exitCode = 1;
    const share = Math.round((weighed / sentences) * 1000) / 1000;
    return [name, { texts: texts.length, sentences, 'share weighed': share, differing }] as const;
  });
  console.table(Object.fromEntries(rows));
}
