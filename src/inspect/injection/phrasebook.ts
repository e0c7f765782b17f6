import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as z from 'zod';
import { readDataFile } from '../../util/files/data-file.ts';
import { folderStamp } from '../../util/files/folder-stamp.ts';
import { prepared } from '../../util/prepared.ts';

/*
 * Loads the phrases by which texts give orders to agents: concepts, each with its words in many languages,
 * and rules. A rule says which concepts make what kind of evidence where they stand close together. So one
 * rule holds for all languages.
 */

const name = z.string().regex(/^[a-z]+(?:-[a-z]+)*$/, 'must be kebab-case');

/** Words by concept, then by language. */
const wordsSchema = z.record(name, z.record(z.string(), z.array(z.string().min(1).max(60)).min(1)));

const ruleSchema = z.strictObject({
  kind: name.describe('what a finding of the rule is called'),
  concepts: z.array(name).min(1).max(4).describe('which must stand close together'),
  within: z.int().min(1).max(600).default(1).describe('bytes from the first of them to the end of the last'),
  order: z.enum(['given', 'any']).default('given'),
  same_sentence: z.boolean().default(false),
  doubt: name.optional().describe('a concept; where it stands among them, something else may be meant'),
  weight: z.number().min(0.01).max(0.99).describe('how sure the rule alone makes'),
});

const commonSchema = z.strictObject({ concepts: z.array(name), words: z.array(z.string()) });

export type PhraseRule = z.output<typeof ruleSchema>;

export interface Phrasebook {
  /** Words of every concept. One that ends in `*` stands for all words with that start. */
  readonly concepts: ReadonlyMap<string, readonly string[]>;
  /** Words that occur in so many texts that they are looked for only near one of the others. */
  readonly common: ReadonlySet<string>;
  readonly rules: readonly PhraseRule[];
}

const rulesFile = 'rules.yaml';
const commonFile = 'common.yaml';

/**
 * Reads `rules.yaml`, `common.yaml`, and the words in all other `*.yaml` files of a folder. Throws an Error
 * that names file and mistake. `keptAs` names a folder that comes with the program, see `prepared`.
 */
export const loadPhrasebook = (dir: string, keptAs?: string): Phrasebook =>
  keptAs === undefined ? readPhrasebook(dir) : prepared(keptAs, folderStamp(dir), () => readPhrasebook(dir));

function readPhrasebook(dir: string): Phrasebook {
  const concepts = new Map<string, readonly string[]>();
  const isWords = (file: string): boolean =>
    file.endsWith('.yaml') && file !== rulesFile && file !== commonFile;
  for (const file of readdirSync(dir).filter(isWords)) {
    for (const [concept, languages] of Object.entries(read(join(dir, file), wordsSchema))) {
      if (concepts.has(concept)) throw new Error(`${file}: ${concept} stands in another file already`);
      concepts.set(concept, [...new Set(Object.values(languages).flat())]);
    }
  }
  const rules = read(join(dir, rulesFile), z.array(ruleSchema).min(1));
  const ofRules = rules.flatMap(({ concepts, doubt }) => (doubt ? [...concepts, doubt] : concepts));
  const common = read(join(dir, commonFile), commonSchema);
  for (const [file, names] of [
    [rulesFile, ofRules],
    [commonFile, common.concepts],
  ] as const)
    for (const concept of names)
      if (!concepts.has(concept)) throw new Error(`${file}: there is no concept ${concept}`);
  return { concepts, common: commonWords(concepts, common), rules };
}

/** Returns the common words. A word of several concepts is common if all of them are. */
function commonWords(
  concepts: Phrasebook['concepts'],
  common: z.output<typeof commonSchema>,
): ReadonlySet<string> {
  const all = new Set(common.concepts.flatMap((concept) => concepts.get(concept) ?? []));
  for (const [concept, words] of concepts)
    if (!common.concepts.includes(concept)) for (const word of words) all.delete(word);
  for (const word of common.words) all.add(word);
  return all;
}

function read<T extends z.ZodType>(file: string, schema: T): z.output<T> {
  const { documents, mistake } = readDataFile(readFileSync(file, 'utf8'));
  if (mistake !== undefined) throw new Error(`${basename(file)} is not valid:\n${mistake}`);
  const parsed = schema.safeParse(documents[0]);
  if (parsed.success) return parsed.data;
  const mistakes = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new Error(`${basename(file)} is not valid:\n${mistakes.join('\n')}`);
}
