import type { Concept, Lexicon, LexiconRole } from './lexicon.ts';
import type { Mentions } from './phrase-table.ts';
import type { Sentence } from './sentences.ts';

/*
 * Finds the features of a sentence: concepts that count alone, and each two concepts that stand close to each other,
 * in either order. Roles decide which pairs mean something: an act and its thing do, two words of a manual do not.
 */

/** Limits the words between the two of a pair. */
const pairGapMax = 10;

const pairs: Readonly<Record<LexiconRole, readonly LexiconRole[]>> = {
  opening: ['act', 'shape'],
  act: ['act', 'thing', 'place', 'shape', 'tame'],
  thing: ['thing', 'place', 'shape', 'tame'],
  place: ['place', 'shape', 'tame'],
  shape: ['shape', 'tame'],
  tame: [],
};

/** Roles that count alone. A thing or an act alone says nothing, since manuals are full of them. */
const countsAlone: ReadonlySet<LexiconRole> = new Set(['shape', 'tame']);

export interface Features {
  /** Upper bound of the features, which are numbers below it. */
  readonly size: number;
  nameOf(feature: number): string;
  /** Returns the feature of a name; undefined where this lexicon has none. */
  find(name: string): number | undefined;
  /** Answers whether the feature can only speak against a meaning. */
  isTame(feature: number): boolean;
  /** Returns each feature of a sentence once. */
  of(sentence: Sentence): number[];
}

/** Creates the features of a lexicon: a concept has its own number, and pairs have numbers behind those. */
export function createFeatures({ concepts, mentions }: Lexicon): Features {
  const count = concepts.length;
  const pairOf = (a: number, b: number): number => count + Math.min(a, b) * count + Math.max(a, b);
  const partsOf = (feature: number): Concept[] => {
    const pair = feature - count;
    const parts = pair < 0 ? [feature] : [Math.floor(pair / count), pair % count];
    return parts.map((it) => concepts[it] as Concept);
  };
  const order = concepts.findIndex(({ role }) => role === 'opening');
  const numbers = new Map(concepts.map(({ name }, concept) => [name, concept]));
  const isAlone = concepts.map(({ role }) => countsAlone.has(role));
  const isOpened = concepts.map(({ role }) => pairs.opening.includes(role));
  const isPair = pairTable(concepts);
  const size = count + count * count;
  /**
   * Has 1 at the features of the current sentence, and only 0 between sentences. A Set would make the worst text take
   * half as long again.
   */
  const isFound = new Uint8Array(size);

  function note(feature: number, found: number[]): void {
    if (isFound[feature] === 1) return;
    isFound[feature] = 1;
    found.push(feature);
  }

  function addPairs(
    { count: all, concepts: of, starts, ends }: Mentions,
    index: number,
    found: number[],
  ): void {
    const concept = of[index] as number;
    const start = starts[index] as number;
    // An opening stands right before what is ordered.
    const startMax = (ends[index] as number) + (concept === order ? 0 : pairGapMax);
    for (let next = index + 1; next < all; next += 1) {
      const otherStart = starts[next] as number;
      if (otherStart > startMax) return;
      const other = of[next] as number;
      if (otherStart > start && isPair[concept * count + other] === 1) note(pairOf(concept, other), found);
    }
  }

  return {
    size,
    nameOf: (feature) =>
      partsOf(feature)
        .map((it) => it.name)
        .join(' + '),
    find(name) {
      const [a, b, ...rest] = name.split(' + ').map((it) => numbers.get(it) ?? Number.NaN);
      const feature = b === undefined ? a : pairOf(a as number, b);
      return rest.length > 0 || Number.isNaN(feature) ? undefined : feature;
    },
    isTame: (feature) => partsOf(feature).some(({ role }) => role === 'tame'),
    of(sentence) {
      const found: number[] = [];
      const all = mentions(sentence);
      for (let index = 0; index < all.count; index += 1) {
        const concept = all.concepts[index] as number;
        if (isAlone[concept]) note(concept, found);
        if (isOpened[concept] && sentence.opens[all.starts[index] as number] === 1)
          note(pairOf(order, concept), found);
        addPairs(all, index, found);
      }
      for (const feature of found) isFound[feature] = 0;
      return found;
    },
  };
}

/** Has 1 where the concept of the row and that of the column, behind it in a sentence, make a pair. */
function pairTable(concepts: readonly Concept[]): Uint8Array {
  const isRelated = (a: Concept, b: Concept): boolean =>
    pairs[a.role].includes(b.role) || (b.role !== 'opening' && pairs[b.role].includes(a.role));
  return Uint8Array.from(concepts.flatMap((a) => concepts.map((b) => (a !== b && isRelated(a, b) ? 1 : 0))));
}
