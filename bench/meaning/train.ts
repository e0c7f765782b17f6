import type { Features } from '../../src/inspect/intent/features.ts';
import { type Category, categories, type IntentWeights } from '../../src/inspect/intent/model.ts';
import { readSentences, type Sentence } from '../../src/inspect/intent/sentences.ts';
import type { Sample } from './samples.ts';

/*
 * Fits the weights: full-batch gradient descent on the logistic loss, which has no randomness, with a penalty on squares. What is tame may
 * only take away and all else only add, so that no everyday word speaks for a meaning, and no dangerous one against it, by an accident of
 * the templates.
 */

const rounds = 600;
/** Of the first round; it falls to nothing, so that the weights come to rest. */
const rateOfFirst = 0.1;
/** How much of the mean square of a slope is that of earlier rounds (RMSProp). */
const memory = 0.95;
const penalty = 0.000_1;
/** False alarms matter more than misses. */
const everydayShare = 2;
/** A text of another category is told apart less strictly: requests often mean two things. */
const otherShare = 0.5;
/** Less is left out. */
const weightMin = 0.05;

/** A sentence and how much it counts. */
interface Row {
  /** The last one is that which all sentences have: its weight is the bias. */
  readonly features: readonly number[];
  readonly category: Category | undefined;
  readonly share: number;
}

/** The weights of all categories, in hundredths. */
export function train(samples: readonly Sample[], features: Features): IntentWeights {
  const rows = samples.flatMap((sample) => rowsOf(sample, features));
  const entries = categories.map((category) => {
    const weights = fit(rows, category, features);
    return [
      category,
      { bias: inHundredths(weights[features.size] as number), weights: named(weights, features) },
    ];
  });
  return Object.fromEntries(entries) as IntentWeights;
}

/** Every sentence of an everyday text is one; of the others the sentence that says most. */
function rowsOf({ text, category, share }: Sample, features: Features): Row[] {
  const bytes = Buffer.from(text);
  const found: number[][] = [];
  const take = (sentence: Sentence): number => found.push([...features.of(sentence), features.size]);
  readSentences(bytes, take, () => false);
  if (category === undefined) return found.map((it) => ({ features: it, category, share }));
  const [richest = []] = found.sort((a, b) => telling(b, features) - telling(a, features));
  return [{ features: richest, category, share }];
}

const telling = (found: readonly number[], features: Features): number =>
  found.filter((it) => it < features.size && !features.isTame(it)).length;

function fit(rows: readonly Row[], category: Category, features: Features): Float64Array {
  const weights = new Float64Array(features.size + 1);
  const squares = new Float64Array(weights.length);
  const signs = Array.from(weights, (_, it) => (it === features.size ? 0 : features.isTame(it) ? -1 : 1));
  const shares = rows.map((row) => row.share * shareOf(row, category));
  const total = shares.reduce((sum, it) => sum + it, 0);
  for (let round = 0; round < rounds; round += 1) {
    const rate = rateOfFirst * (1 - round / rounds);
    const slopes = Float64Array.from(weights, (it) => it * penalty);
    rows.forEach((row, index) => {
      const sum = row.features.reduce((sum, it) => sum + (weights[it] as number), 0);
      const wrong = 1 / (1 + Math.exp(-sum)) - (row.category === category ? 1 : 0);
      const slope = (wrong * (shares[index] as number)) / total;
      for (const it of row.features) slopes[it] = (slopes[it] as number) + slope;
    });
    slopes.forEach((slope, it) => {
      if (slope === 0) return;
      const square = memory * (squares[it] as number) + (1 - memory) * slope ** 2;
      squares[it] = square;
      const moved = (weights[it] as number) - (rate * slope) / Math.sqrt(square);
      weights[it] = moved * (signs[it] as number) < 0 ? 0 : moved;
    });
  }
  return weights;
}

const shareOf = (row: Row, category: Category): number =>
  row.category === category ? 1 : row.category ? otherShare : everydayShare;

const inHundredths = (weight: number): number => Math.round(weight * 100) / 100;

function named(weights: Float64Array, features: Features): Record<string, number> {
  const all: Record<string, number> = {};
  weights.subarray(0, features.size).forEach((weight, feature) => {
    if (Math.abs(weight) >= weightMin) all[features.nameOf(feature)] = inHundredths(weight);
  });
  return all;
}
