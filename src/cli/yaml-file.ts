import type { YamlDocument } from '../util/yaml.ts';
import { MistakesError } from './problems.ts';
import { readTextFile } from './text-file.ts';

const fileBytesMax = 16 * 1024 * 1024;
/** Aliases that a file may use; writers of YAML use them for values that occur twice. */
const aliasesMax = 50;

/** Reads one document of YAML or JSON; `-` is standard input. Throws `MistakesError` for anything else. */
export async function readYamlFile(file: string): Promise<YamlDocument> {
  const text = await readTextFile(file, fileBytesMax);
  const { readYaml } = await import('../util/yaml.ts');
  const { documents, mistakes } = readYaml(text, { aliasesMax });
  const [document] = documents;
  if (document && mistakes.length === 0) return document;
  throw new MistakesError(
    mistakes.map(({ line, column, message }) => ({ file, line, column, path: '', message })),
  );
}
