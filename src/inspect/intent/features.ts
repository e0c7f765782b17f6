import type { Concept, Lexicon, LexiconRole } from './lexicon.ts';
import type { Mentions } from './phrase-table.ts';
import type { Sentence } from './sentences.ts';

/*
 * Finds the features of a sentence: concepts that count alone, and each two concepts that stand close to each
 * other, in either order. Roles decide which pairs mean something: an act and its thing do, two words of a
 * manual do not.
 */

/** Bound on the words between the two concepts of a pair. */
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

/** Numbers the features of a lexicon: a concept has its own number, and pairs have numbers behind those. */
export class Features {
  /** The number of possible features. Each feature is a number below it. */
  readonly size: number;
  readonly #lexicon: Lexicon;
  readonly #count: number;
  /** The number of the concept that opens an order. */
  readonly #order: number;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #isAlone: readonly boolean[];
  readonly #isOpened: readonly boolean[];
  readonly #isPair: Uint8Array;
  /**
   * 1 at the features of the current sentence, and only 0 between sentences. A Set would make the worst text
   * take half as long again.
   */
  readonly #isFound: Uint8Array;

  constructor(lexicon: Lexicon) {
    const { concepts } = lexicon;
    this.#lexicon = lexicon;
    this.#count = concepts.length;
    this.#order = concepts.findIndex(({ role }) => role === 'opening');
    this.#numbers = new Map(concepts.map(({ name }, concept) => [name, concept]));
    this.#isAlone = concepts.map(({ role }) => countsAlone.has(role));
    this.#isOpened = concepts.map(({ role }) => pairs.opening.includes(role));
    this.#isPair = pairTable(concepts);
    this.size = concepts.length * (concepts.length + 1);
    this.#isFound = new Uint8Array(this.size);
  }

  nameOf(feature: number): string {
    return this.#partsOf(feature)
      .map((it) => it.name)
      .join(' + ');
  }

  /** Returns the feature of a name; undefined where this lexicon has none. */
  find(name: string): number | undefined {
    const [a, b, ...rest] = name.split(' + ').map((it) => this.#numbers.get(it) ?? Number.NaN);
    const feature = b === undefined ? a : this.#pairOf(a as number, b);
    return rest.length > 0 || Number.isNaN(feature) ? undefined : feature;
  }

  /** Tells whether the feature can only speak against a meaning. */
  isTame(feature: number): boolean {
    return this.#partsOf(feature).some(({ role }) => role === 'tame');
  }

  /** Returns each feature of a sentence once. */
  of(sentence: Sentence): number[] {
    const found: number[] = [];
    const all = this.#lexicon.mentions(sentence);
    for (let index = 0; index < all.count; index += 1) {
      const concept = all.concepts[index] as number;
      if (this.#isAlone[concept]) this.#note(concept, found);
      if (this.#isOpened[concept] && sentence.opens[all.starts[index] as number] === 1)
        this.#note(this.#pairOf(this.#order, concept), found);
      this.#addPairs(all, index, found);
    }
    for (const feature of found) this.#isFound[feature] = 0;
    return found;
  }

  #pairOf(a: number, b: number): number {
    return this.#count + Math.min(a, b) * this.#count + Math.max(a, b);
  }

  #partsOf(feature: number): readonly Concept[] {
    const count = this.#count;
    const pair = feature - count;
    const parts = pair < 0 ? [feature] : [Math.floor(pair / count), pair % count];
    return parts.map((it) => this.#lexicon.concepts[it] as Concept);
  }

  #note(feature: number, found: number[]): void {
    if (this.#isFound[feature] === 1) return;
    this.#isFound[feature] = 1;
    found.push(feature);
  }

  #addPairs({ count: all, concepts: of, starts, ends }: Mentions, index: number, found: number[]): void {
    const concept = of[index] as number;
    const start = starts[index] as number;
    // An opening stands right before the act that it orders.
    const startMax = (ends[index] as number) + (concept === this.#order ? 0 : pairGapMax);
    for (let next = index + 1; next < all; next += 1) {
      const otherStart = starts[next] as number;
      if (otherStart > startMax) return;
      const other = of[next] as number;
      if (otherStart > start && this.#isPair[concept * this.#count + other] === 1)
        this.#note(this.#pairOf(concept, other), found);
    }
  }
}

/**
 * Returns a table with 1 where the concept of the row makes a pair with that of the column, behind it in a
 * sentence.
 */
function pairTable(concepts: readonly Concept[]): Uint8Array {
  const isRelated = (a: Concept, b: Concept): boolean =>
    pairs[a.role].includes(b.role) || (b.role !== 'opening' && pairs[b.role].includes(a.role));
  return Uint8Array.from(concepts.flatMap((a) => concepts.map((b) => (a !== b && isRelated(a, b) ? 1 : 0))));
}
