import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { readDataFile } from '../../util/files/data-file.ts';
import { type Mentions, PhraseTable } from './phrase-table.ts';
import { type Sentence, wordsOf } from './sentences.ts';

/* Loads concepts, each with its words and phrases by language, from one file for each role. */

/** Roles of concepts, in the order in which the features of a pair name them. */
export const lexiconRoles = ['opening', 'act', 'thing', 'place', 'shape', 'tame'] as const;
export type LexiconRole = (typeof lexiconRoles)[number];

export interface Concept {
  readonly name: string;
  readonly role: LexiconRole;
  readonly phrases: readonly string[];
}

export interface Lexicon {
  readonly concepts: readonly Concept[];
  mentions(sentence: Sentence): Mentions;
}

const name = z.string().regex(/^[a-z]+(?:-[a-z]+)*$/, 'must be kebab-case');
const phrase = z.string().min(1).max(80);
const fileSchema = z.record(name, z.record(z.string(), z.array(phrase).min(1)));

/** Concepts as they are read, and each phrase as the numbers of its words. */
export interface LexiconData {
  readonly concepts: readonly Concept[];
  readonly phrases: readonly { readonly words: readonly number[]; readonly concept: number }[];
}

/** Reads `<role>s.yaml` of each role. Throws an Error that names file and mistake. */
export const loadLexicon = (dir: string): Lexicon => lexiconOf(readLexicon(dir));

export function lexiconOf({ concepts, phrases }: LexiconData): Lexicon {
  const table = new PhraseTable(phrases);
  return { concepts, mentions: (sentence) => table.of(sentence) };
}

export function readLexicon(dir: string): LexiconData {
  const concepts: Concept[] = [];
  const table: { readonly words: readonly number[]; readonly concept: number }[] = [];
  for (const role of lexiconRoles) {
    const file = join(dir, `${role}s.yaml`);
    for (const [name, languages] of Object.entries(readData(file, fileSchema))) {
      if (concepts.some((it) => it.name === name)) throw new Error(`${file}: ${name} stands there twice`);
      const phrases = Object.values(languages).flat();
      for (const words of phrases.map(wordsOf)) {
        if (words.length === 0) throw new Error('A phrase without a word is in the lexicon.');
        table.push({ words, concept: concepts.length });
      }
      concepts.push({ name, role, phrases });
    }
  }
  return { concepts, phrases: table };
}

/** Reads a file of this folder. Throws an Error that names file and mistake. */
export function readData<T extends z.ZodType>(file: string, schema: T): z.output<T> {
  const { documents, mistake } = readDataFile(readFileSync(file, 'utf8'));
  if (mistake !== undefined) throw new Error(`${file} is not valid: ${mistake}`);
  const parsed = schema.safeParse(documents[0]);
  if (!parsed.success) throw new Error(`${file} is not valid: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
