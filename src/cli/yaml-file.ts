import type { YAMLParseError } from 'yaml';
import { MistakesError } from './problems.ts';
import { readTextFile } from './text-file.ts';

/** A file of YAML or JSON that holds one document. */
export interface YamlFile {
  readonly value: unknown;
  /** The line of what stands at a path such as `cases[2].expect`, or of the nearest thing around it. */
  lineOf(path: string): number;
}

const fileBytesMax = 16 * 1024 * 1024;
const aliasesMax = 50;

/** Throws `MistakesError` for what is not one document. `-` is standard input. */
export async function readYamlFile(file: string): Promise<YamlFile> {
  const text = await readTextFile(file, fileBytesMax);
  const { isNode, LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const refuse = (line: number, message: string) => new MistakesError([{ file, line, path: '', message }]);
  const [mistake] = document.errors;
  if (mistake) throw refuse(lineAt(mistake.pos[0]), messageOf(mistake));
  return {
    value: toValue(
      () => document.toJS({ maxAliasCount: aliasesMax }),
      (message) => refuse(1, message),
    ),
    lineOf(path) {
      const steps = (path.match(/[^.[\]]+/g) ?? []).map((it) => (/^\d+$/.test(it) ? Number(it) : it));
      for (let length = steps.length; length > 0; length--) {
        const node = document.getIn(steps.slice(0, length), true);
        if (isNode(node) && node.range) return lineAt(node.range[0]);
      }
      return 1;
    },
  };
}

/** What is no tree, such as an alias without an anchor or a bomb of them, is only noticed here. */
function toValue(read: () => unknown, refuse: (message: string) => Error): unknown {
  try {
    return read();
  } catch (error) {
    throw refuse((error as Error).message);
  }
}

/** The parser tells programmers what to call instead. */
const messageOf = ({ code, message }: YAMLParseError): string =>
  code === 'MULTIPLE_DOCS' ? 'there is a second document; the file may hold only one' : message;
