/*
 * The weights of the semantic engine, and how well it tells.
 *
 *   node bench/meaning.ts train       writes config/meaning/weights.yaml, byte for byte the same in every run
 *   node bench/meaning.ts evaluate    on families of texts that the training did not see, and with
 *       --corpus DIR                  on a labelled corpus (docs/detection.md says what a line holds)
 *       --texts DIR                   on the Markdown anywhere below a folder
 *       --wrong                       prints what was wrong
 *   node bench/meaning.ts filter      how many sentences are weighed, and whether any was missed; with --corpus DIR as above
 *   node bench/meaning.ts speed       microseconds for 4 KB
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Features } from '../src/inspect/intent/features.ts';
import { loadLexicon } from '../src/inspect/intent/lexicon.ts';
import { loadMeanings } from '../src/inspect/intent/reader.ts';
import { evaluate } from './meaning/evaluate.ts';
import { compareFiltered } from './meaning/filter.ts';
import { makeSamples } from './meaning/samples.ts';
import { measure } from './meaning/speed.ts';
import { train } from './meaning/train.ts';
import { written } from './meaning/written.ts';

const dataDir = join(import.meta.dirname, '../config/meaning');
const trainingDir = join(import.meta.dirname, 'meaning/training');
const heldOutDir = join(import.meta.dirname, 'meaning/held-out');

const { values, positionals } = parseArgs({
  options: { corpus: { type: 'string' }, texts: { type: 'string' }, wrong: { type: 'boolean' } },
  allowPositionals: true,
});

switch (positionals[0]) {
  case 'train': {
    const features = new Features(loadLexicon(dataDir));
    writeFileSync(join(dataDir, 'weights.yaml'), written(train(makeSamples(trainingDir), features)));
    break;
  }
  case 'evaluate':
    evaluate(loadMeanings(dataDir), { trainingDir, heldOutDir, ...values });
    break;
  case 'filter':
    compareFiltered(dataDir, [trainingDir, heldOutDir], values.corpus);
    break;
  case 'speed':
    measure(loadMeanings(dataDir));
    break;
  default:
    console.error('Say what to do: train, evaluate, filter or speed.');
    process.exitCode = 2;
}
