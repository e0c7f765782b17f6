import type { Concept, Lexicon, LexiconRole } from './lexicon.ts';
import type { Mentions } from './phrase-table.ts';
import type { Sentence } from './sentences.ts';

/*
 * The features of a sentence: what speaks for itself, and each two concepts that stand close to each other, in either order. Which
 * pairs mean something is told by the roles of the two: an act and its thing do, two words of a manual do not.
 */

/** Words that may stand between the two of a pair. */
const pairGapMax = 10;

const pairs: Readonly<Record<LexiconRole, readonly LexiconRole[]>> = {
  opening: ['act', 'shape'],
  act: ['act', 'thing', 'place', 'shape', 'tame'],
  thing: ['thing', 'place', 'shape', 'tame'],
  place: ['place', 'shape', 'tame'],
  shape: ['shape', 'tame'],
  tame: [],
};

/** A thing or an act alone says nothing: manuals are full of them. */
const countsAlone: ReadonlySet<LexiconRole> = new Set(['shape', 'tame']);

export interface Features {
  /** Features are numbers below this one. */
  readonly size: number;
  nameOf(feature: number): string;
  /** Undefined for what is no feature of this lexicon. */
  find(name: string): number | undefined;
  /** Whether it can only speak against a meaning. */
  isTame(feature: number): boolean;
  /** Each feature of a sentence once. */
  of(sentence: Sentence): number[];
}

/** Features of what a lexicon knows: a concept has its own number, a pair one behind those of the concepts. */
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
  /** 1 for the features that the sentence at hand has; all 0 between sentences. With a Set the worst text takes half as long again. */
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
    // What opens an order stands right before what is ordered.
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

/** 1 where the concept of the row and that of the column, behind it in a sentence, make a pair. */
function pairTable(concepts: readonly Concept[]): Uint8Array {
  const isRelated = (a: Concept, b: Concept): boolean =>
    pairs[a.role].includes(b.role) || (b.role !== 'opening' && pairs[b.role].includes(a.role));
  return Uint8Array.from(concepts.flatMap((a) => concepts.map((b) => (a !== b && isRelated(a, b) ? 1 : 0))));
}
