import { nearest } from '../../util/nearest.ts';

/** A place in a document, as the steps from the root. */
export type Path = readonly PropertyKey[];

/** A mistake, in words by which it can be mended. It never has the value of a secret. */
export interface Mistake {
  /** The path in the file, such as `tenants[0].plan`; empty for the file as a whole. */
  readonly path: string;
  /** The line, from 1; undefined where there is no text. */
  readonly line: number | undefined;
  /** The column in that line, from 1; undefined where there is no text. */
  readonly column?: number | undefined;
  readonly message: string;
}

const shownMax = 100;

/** Says that the configuration cannot be used. It has every mistake that was found, not only the first. */
export class ConfigError extends Error {
  readonly file: string | undefined;
  readonly mistakes: readonly Mistake[];

  constructor(file: string | undefined, mistakes: readonly Mistake[]) {
    const shown = mistakes.slice(0, shownMax).map((it) => `  ${mistakeSentence(it)}`);
    if (mistakes.length > shownMax) shown.push(`  and ${mistakes.length - shownMax} more`);
    const count = mistakes.length === 1 ? 'one mistake' : `${mistakes.length} mistakes`;
    super(`${file ?? 'the configuration'} has ${count}:\n${shown.join('\n')}`);
    this.name = 'ConfigError';
    this.file = file;
    this.mistakes = mistakes;
  }
}

/**
 * Returns a mistake as a sentence: `line 4, column 5, tenants[0].plan: there is no plan "prro"; did you mean
 * "pro"?`
 */
export function mistakeSentence({ path, line, column, message }: Mistake): string {
  const places = [line === undefined ? '' : `line ${line}`, column === undefined ? '' : `column ${column}`];
  const where = [...places, path].filter((it) => it !== '').join(', ');
  return where === '' ? message : `${where}: ${message}`;
}

const plainKey = /^[A-Za-z0-9_-]{1,64}$/;

/** Returns the path as people write it: `tenants[0].org_accounts["a.b"]`. */
export function dotted(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (plainKey.test(String(step))) text += text === '' ? String(step) : `.${String(step)}`;
    else text += `[${JSON.stringify(String(step).slice(0, 64))}]`;
  }
  return text;
}

const wordMax = 64;

/** Returns `; did you mean "listen"?`, or '' where no known word is near. */
export function suggestion(word: string, known: Iterable<string>): string {
  if (word.length < 3 || word.length > wordMax) return '';
  const near = nearest(word, [...known], Math.ceil(word.length / 3));
  return near === undefined ? '' : `; did you mean "${near}"?`;
}
