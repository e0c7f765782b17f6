import { gramShare } from '../patterns/gram-rarity.ts';
import type { Concept } from './lexicon.ts';
import { categories, type Weights } from './model.ts';

/*
 * The concepts of which a sentence needs one, at least, before it can mean anything: whatever the others add up to, all of them together, is
 * less than what speaks against every category from the start. Of the many choices one is made whose words are rare, so that most of
 * what is sent has none of them, and is passed over.
 */

/** What a sum of weights may be wrong by: it is added up in another order where a text is read. */
const tolerance = 1e-6;

/** A part of the concepts. Throws an Error for weights that speak for a category where nothing is said. */
export function coverOf(concepts: readonly Concept[], weights: Weights): Concept[] {
  const cover = new Map(concepts.map((concept) => [concept.name, concept]));
  const supports = categories.map((category) => supportOf(weights[category]));
  const isCover = (): boolean => supports.every((support) => sumWithout(cover, support) < -tolerance);
  if (!isCover()) throw new Error('There are weights that speak for a category where nothing is said.');
  const shares = new Map(concepts.map((concept) => [concept, shareOf(concept)]));
  const byShare = concepts.toSorted((a, b) => (shares.get(b) as number) - (shares.get(a) as number));
  for (const concept of byShare) {
    cover.delete(concept.name);
    if (!isCover()) cover.set(concept.name, concept);
  }
  return [...cover.values()];
}

/** What speaks for a category. */
interface Support {
  readonly bias: number;
  readonly features: readonly { readonly concepts: readonly string[]; readonly weight: number }[];
}

const supportOf = ({ bias, weights }: Weights[keyof Weights]): Support => ({
  bias,
  features: Object.entries(weights)
    .filter(([, weight]) => weight > 0)
    .map(([name, weight]) => ({ concepts: name.split(' + '), weight })),
});

/** The most that a sentence without these concepts may add up to. */
function sumWithout(cover: ReadonlyMap<string, Concept>, { bias, features }: Support): number {
  let sum = bias;
  for (const { concepts, weight } of features) if (!concepts.some((name) => cover.has(name))) sum += weight;
  return sum;
}

/** How much of an ordinary text the concept's phrases may be: a rough guess, for their order only. */
const shareOf = ({ phrases }: Concept): number =>
  phrases.reduce((sum, phrase) => sum + phraseShare(phrase), 0);

/** The share of the four bytes in it that are rarest. */
function phraseShare(phrase: string): number {
  const bytes = Buffer.from(` ${phrase.toLowerCase()} `);
  let least = 1;
  for (let at = 0; at + 4 <= bytes.length; at += 1) {
    const [a, b, c, d] = bytes.subarray(at, at + 4) as unknown as [number, number, number, number];
    least = Math.min(least, gramShare([a, b, c, d]));
  }
  return least;
}
