import { join } from 'node:path';
import { createFeatures, type Features } from './features.ts';
import { loadLexicon } from './lexicon.ts';
import { type Category, categories, createModel, type Judgement, loadWeights, type Model } from './model.ts';
import { readSentences } from './sentences.ts';

/*
 * What does a text ask for? Each sentence, command or statement is weighed by itself, so that a long text does not add up to what no
 * part of it says; the surest one speaks for the text. This is an opinion about words: it weighs in a risk score and decides nothing.
 */

export type { Category } from './model.ts';

export interface Meaning {
  readonly category: Category;
  /** 0.5 to 1, in hundredths. */
  readonly score: number;
  /** Names of what spoke for it, as "erase + everything, erase + backups". Never anything of the text. */
  readonly details: string;
}

export interface MeaningReader {
  /**
   * At most one meaning a category, in a fixed order. Of a text beyond 64 KB the first and the last 32 KB are read: a request begins
   * with its task, and the newest turn of a conversation ends it. Linear. `isOver` is asked after each sentence; what was found until
   * it said yes is answered.
   */
  read(text: Buffer, isOver: () => boolean): readonly Meaning[];
}

/** Below it a category is not reported. */
export const scoreMin = 0.5;
const endBytes = 32 * 1024;
const none: readonly Meaning[] = [];

/** Reads lexicon and weights of a folder. Throws an Error that names file and mistake. */
export function loadMeanings(dir: string): MeaningReader {
  const features = createFeatures(loadLexicon(dir));
  return createMeaningReader(features, createModel(loadWeights(join(dir, 'weights.yaml')), features));
}

export function createMeaningReader(features: Features, model: Model): MeaningReader {
  return {
    read(text, isOver) {
      const surest = new Map<Category, Judgement>();
      const read = (from: number, to: number): void =>
        readSentences(text, from, to, (sentence) => weigh(features.of(sentence), surest), isOver);
      if (text.length <= 2 * endBytes) read(0, text.length);
      else {
        read(0, endBytes);
        read(text.length - endBytes, text.length);
      }
      return surest.size === 0
        ? none
        : categories.flatMap((category) => toMeaning(category, surest.get(category)));
    },
  };

  function weigh(found: readonly number[], surest: Map<Category, Judgement>): void {
    if (found.length === 0) return;
    for (const category of categories) {
      const judgement = model.judge(category, found);
      if (judgement.score >= Math.max(scoreMin, surest.get(category)?.score ?? 0))
        surest.set(category, judgement);
    }
  }
}

function toMeaning(category: Category, judgement: Judgement | undefined): Meaning[] {
  if (!judgement) return [];
  return [
    { category, score: Math.round(judgement.score * 100) / 100, details: judgement.reasons().join(', ') },
  ];
}
