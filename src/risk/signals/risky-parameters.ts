import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { readDataFile } from '../../util/files/data-file.ts';

/** Tells which parameters of a tool ask for what no tool needs. */
export type RiskyParameters = ReturnType<typeof createRiskyParameters>;

export interface ToolParameter {
  readonly name: string;
  readonly description: string;
}

const words = z.array(z.string().regex(/^[a-z0-9]+(?:_[a-z0-9]+)*$/, 'must be words joined by "_"')).min(1);
const phrases = z
  .array(z.string().refine((it) => it === plain(it) && it.length >= 5, 'must be plain small letters'))
  .min(1);

const kindSchema = z.strictObject({
  kind: z.string().regex(/^[a-z]+(?:-[a-z]+)*$/, 'must be kebab-case'),
  why: z.string(),
  names: words,
  phrases,
  /** Parameters, each as `name` or `name: description`. */
  examples: z.strictObject({ match: z.array(z.string()).min(1), pass: z.array(z.string()).min(1) }),
});

type RiskyKind = z.output<typeof kindSchema>;

/** Reads the kinds from a file. Throws an Error that says what is wrong with the file. */
export function loadRiskyKinds(file: string): readonly RiskyKind[] {
  const { documents, mistake } = readDataFile(readFileSync(file, 'utf8'));
  if (mistake !== undefined) throw new Error(`${file} is not valid:\n${mistake}`);
  return z.array(kindSchema).parse(documents[0]);
}

/** The length to which a name is read. A longer one has no more meaning. */
const nameLengthMax = 256;
const descriptionLengthMax = 16_384;

export function createRiskyParameters(kinds: readonly RiskyKind[]) {
  return {
    /**
     * Returns the kind of a risky parameter; undefined where it is none. Its time is linear in the length of
     * both texts.
     */
    kindOf({ name, description }: ToolParameter) {
      const written = `_${toWords(name.slice(0, nameLengthMax))}_`;
      const said = plain(description.slice(0, descriptionLengthMax));
      return kinds.find(
        ({ names, phrases: asked }) =>
          names.some((it) => written.includes(`_${it}_`)) || asked.some((it) => said.includes(it)),
      )?.kind;
    },
  };
}

/**
 * Returns a name as words joined by `_`. `chatHistory`, `chat-history` and `Chat History` give
 * `chat_history`.
 */
const toWords = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_');

/** Returns a text in small letters, without characters that nobody sees, with one space between words. */
function plain(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}~./_]+/gu, ' ');
}
