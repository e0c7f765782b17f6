import { gramShare } from '../patterns/gram-rarity.ts';
import type { Concept } from './lexicon.ts';
import { categories, type IntentWeights } from './model.ts';

/*
 * Chooses concepts so that a sentence needs at least one of them before it can mean anything. Without them,
 * all other weights add up to less than what speaks against every category. Among the many choices it takes
 * one with rare words, so that most sentences have none of them and are skipped.
 */

/** The rounding error of a sum, since reading a text adds in another order. */
const tolerance = 1e-6;

/**
 * Concepts that real content (source code, documents and records) names most, as counted; the most frequent
 * first.
 */
const common: readonly string[] = [
  ...['review', 'inline-code', 'small-thing', 'grant', 'manual', 'mint', 'report', 'collect', 'release'],
  ...['harmless-thing', 'try-out', 'opposite', 'systems', 'transmit', 'enter', 'database', 'development'],
  ...['root-path', 'oneself', 'company-data', 'everything', 'secrets', 'erase', 'scan', 'stop'],
];

/**
 * Returns a part of the concepts that suffices. With `known`, another such part, it returns mostly others, so
 * that a sentence with some of both is rare. Throws an Error for weights that speak for a category where
 * nothing is said.
 */
export function coverOf(
  concepts: readonly Concept[],
  weights: IntentWeights,
  known: readonly Concept[] = [],
): Concept[] {
  // An opening is also recognised by the place of a word, without a phrase of its own.
  const said = concepts.filter(({ role }) => role !== 'opening');
  const cover = new Map(said.map((concept) => [concept.name, concept]));
  const supports = categories.map((category) => supportOf(weights[category]));
  const isCover = (): boolean => supports.every((support) => sumWithout(cover, support) < -tolerance);
  if (!isCover()) throw new Error('There are weights that speak for a category where nothing is said.');
  const shares = new Map(
    said.map((concept) => {
      const place = common.indexOf(concept.name);
      const rank = place < 0 ? 0 : common.length - place;
      return [concept, shareOf(concept) + rank + (rank > 0 && known.includes(concept) ? common.length : 0)];
    }),
  );
  const byShare = said.toSorted((a, b) => (shares.get(b) as number) - (shares.get(a) as number));
  for (const concept of byShare) {
    cover.delete(concept.name);
    if (!isCover()) cover.set(concept.name, concept);
  }
  return [...cover.values()];
}

/** The bias and the positive weights of a category. */
interface Support {
  readonly bias: number;
  readonly features: readonly { readonly concepts: readonly string[]; readonly weight: number }[];
}

const supportOf = ({ bias, weights }: IntentWeights[keyof IntentWeights]): Support => ({
  bias,
  features: Object.entries(weights)
    .filter(([, weight]) => weight > 0)
    .map(([name, weight]) => ({ concepts: name.split(' + '), weight })),
});

/** Returns the highest sum that a sentence without these concepts may have. */
function sumWithout(cover: ReadonlyMap<string, Concept>, { bias, features }: Support): number {
  let sum = bias;
  for (const { concepts, weight } of features) if (!concepts.some((name) => cover.has(name))) sum += weight;
  return sum;
}

/**
 * Estimates the share of an ordinary text that the concept's phrases have. It only serves to order concepts.
 */
const shareOf = ({ phrases }: Concept): number =>
  phrases.reduce((sum, phrase) => sum + phraseShare(phrase), 0);

/** Returns the share of the rarest four bytes in a phrase. */
function phraseShare(phrase: string): number {
  const bytes = Buffer.from(` ${phrase.toLowerCase()} `);
  let least = 1;
  for (let at = 0; at + 4 <= bytes.length; at += 1) {
    const [a, b, c, d] = bytes.subarray(at, at + 4) as unknown as [number, number, number, number];
    least = Math.min(least, gramShare([a, b, c, d]));
  }
  return least;
}
