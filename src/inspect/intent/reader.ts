import { join } from 'node:path';
import type { Meaning } from '../../core/call.ts';
import { folderStamp } from '../../util/files/folder-stamp.ts';
import { prepared } from '../../util/prepared.ts';
import { coverOf } from './cover.ts';
import { Features } from './features.ts';
import { type Concept, type LexiconData, lexiconOf, readLexicon } from './lexicon.ts';
import {
  type Category,
  categories,
  createModel,
  type IntentWeights,
  loadWeights,
  type Model,
} from './model.ts';
import { PhraseFilter } from './phrase-filter.ts';
import { SentenceReader, wordsOf } from './sentences.ts';

/*
 * Tells what a text asks for. Each sentence, command or statement is scored by itself, and the surest one
 * speaks for the text. So a long text does not add up to what no part of it says. The result is an opinion
 * about words: it adds to a risk score and decides nothing.
 */

export interface MeaningReader {
  /**
   * Returns at most one meaning a category, in a fixed order, in linear time. If a text is longer than 64 KB,
   * only both ends of 32 KB are read. A request begins with its task, and a conversation ends with its newest
   * turn. Reading ends once `isOver` returns true.
   */
  read(text: Buffer, isOver: () => boolean): readonly Meaning[];
}

/** The least score that is reported. */
export const intentScoreMin = 0.5;
const endBytes = 32 * 1024;
const none: readonly Meaning[] = [];

/**
 * Reads lexicon and weights of a folder. Throws an Error that names file and mistake. `keptAs` names a folder
 * that comes with the program, see `prepared`.
 */
export function loadMeanings(dir: string, keptAs?: string): MeaningReader {
  const make = (): MeaningData => readMeanings(dir);
  const data = keptAs === undefined ? make() : prepared(keptAs, folderStamp(dir), make);
  const features = new Features(lexiconOf(data.lexicon));
  return createMeaningReader(features, createModel(data.weights, features), filtersOf(data.covers));
}

/** The words of the phrases that pass each of the two filters. */
type Covers = Readonly<Record<keyof Filters, readonly (readonly number[])[]>>;

interface MeaningData {
  readonly lexicon: LexiconData;
  readonly weights: IntentWeights;
  readonly covers: Covers;
}

export const filtersOf = ({ first, second }: Covers): Filters => ({
  first: new PhraseFilter(first),
  second: new PhraseFilter(second),
});

/** Reads all that a reader is made of. Throws an Error that names file and mistake. */
export function readMeanings(dir: string): MeaningData {
  const lexicon = readLexicon(dir);
  const { concepts } = lexicon;
  const weights = loadWeights(join(dir, 'weights.yaml'));
  const first = coverOf(concepts, weights);
  const second = coverOf(concepts, weights, first);
  return { lexicon, weights, covers: { first: wordsOfAll(first), second: wordsOfAll(second) } };
}

const wordsOfAll = (concepts: readonly Concept[]): number[][] =>
  concepts.flatMap(({ phrases }) => phrases.map(wordsOf));

/**
 * Two filters for sentences that may mean something. Most sentences have no word that passes both, and need
 * no score.
 */
export interface Filters {
  /** The filter that the kernel applies. */
  readonly first: PhraseFilter;
  readonly second: PhraseFilter;
}

/** Creates a reader of one text at a time. With filters, sentences in which no word passes are not scored. */
export function createMeaningReader(features: Features, model: Model, filters?: Filters): MeaningReader {
  /** The surest features of each category in the current text. */
  let surest = new Map<Category, { readonly score: number; readonly found: readonly number[] }>();
  const sentences = new SentenceReader((sentence) => {
    if (!filters || filters.second.passes(sentence)) weigh(features.of(sentence));
  }, filters?.first);
  return {
    read(text, isOver) {
      if (surest.size > 0) surest = new Map();
      const { length } = text;
      if (length <= 2 * endBytes) sentences.read(text, isOver);
      else {
        sentences.read(text.subarray(0, endBytes), isOver);
        sentences.read(text.subarray(length - endBytes), isOver);
      }
      return surest.size === 0 ? none : categories.flatMap(toMeaning);
    },
  };

  function weigh(found: readonly number[]): void {
    if (found.length === 0 || !model.maySpeak(found)) return;
    for (const category of categories) {
      const score = model.score(category, found);
      if (score >= Math.max(intentScoreMin, surest.get(category)?.score ?? 0))
        surest.set(category, { score, found });
    }
  }

  function toMeaning(category: Category): Meaning[] {
    const sure = surest.get(category);
    if (!sure) return [];
    const details = model.reasons(category, sure.found).join(', ');
    return [{ category, score: Math.round(sure.score * 100) / 100, details }];
  }
}
