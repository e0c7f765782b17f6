import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { readDataFile } from '../../data-file.ts';
import { type Sentence, wordsOf } from './sentences.ts';
import { WordSet } from './word-set.ts';

/* What words stand for: concepts, each with its words and phrases by language, in one file for each role that a concept may have. */

/** In the order in which the features of a pair name them. */
export const roles = ['opening', 'act', 'thing', 'place', 'shape', 'tame'] as const;
export type Role = (typeof roles)[number];

export interface Concept {
  readonly name: string;
  readonly role: Role;
  readonly phrases: readonly string[];
}

/** A concept in a sentence: which, from which word to which. */
export interface Mention {
  readonly concept: number;
  readonly start: number;
  readonly end: number;
}

export interface Lexicon {
  readonly concepts: readonly Concept[];
  /** The concepts of a sentence in their order. Of phrases that begin together the longest counts. */
  mentions(sentence: Sentence): Mention[];
}

const name = z.string().regex(/^[a-z]+(?:-[a-z]+)*$/, 'must be kebab-case');
const phrase = z.string().min(1).max(80);
const fileSchema = z.record(name, z.record(z.string(), z.array(phrase).min(1)));

/** One word of phrases: what ends with it, and what follows it; most phrases end there. */
interface Step {
  concepts: readonly number[];
  next?: Map<number, Step>;
}

const none: readonly number[] = [];

/** Reads `<role>s.yaml` of each role. Throws an Error that names file and mistake. */
export function loadLexicon(dir: string): Lexicon {
  const concepts: Concept[] = [];
  const root: Step = { concepts: none };
  for (const role of roles) {
    const file = join(dir, `${role}s.yaml`);
    for (const [name, languages] of Object.entries(readConcepts(file))) {
      if (concepts.some((it) => it.name === name)) throw new Error(`${file}: ${name} stands there twice`);
      const phrases = Object.values(languages).flat();
      for (const phrase of phrases) addPhrase(root, wordsOf(phrase), concepts.length);
      concepts.push({ name, role, phrases });
    }
  }
  const firstWords = new WordSet(root.next?.keys() ?? []);
  return { concepts, mentions: (sentence) => mentionsIn(sentence, root, firstWords) };
}

function readConcepts(file: string): z.output<typeof fileSchema> {
  const { documents, mistake } = readDataFile(readFileSync(file, 'utf8'));
  if (mistake !== undefined) throw new Error(`${file} is not valid: ${mistake}`);
  const parsed = fileSchema.safeParse(documents[0]);
  if (!parsed.success) throw new Error(`${file} is not valid: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function addPhrase(root: Step, words: readonly number[], concept: number): void {
  if (words.length === 0) throw new Error('A phrase without a word is in the lexicon.');
  let step = root;
  for (const word of words) {
    step.next ??= new Map();
    const next = step.next.get(word) ?? { concepts: none };
    step.next.set(word, next);
    step = next;
  }
  if (!step.concepts.includes(concept)) step.concepts = [...step.concepts, concept];
}

function mentionsIn({ words, count }: Sentence, root: Step, firstWords: WordSet): Mention[] {
  const mentions: Mention[] = [];
  for (let start = 0; start < count; ) {
    if (!firstWords.has(words[start] as number)) {
      start += 1;
      continue;
    }
    let [concepts, end] = [none, start + 1];
    let step = root.next?.get(words[start] as number);
    for (let at = start + 1; step !== undefined; at += 1) {
      if (step.concepts.length > 0) [concepts, end] = [step.concepts, at];
      step = at < count ? step.next?.get(words[at] as number) : undefined;
    }
    for (const concept of concepts) mentions.push({ concept, start, end });
    start = end;
  }
  return mentions;
}
