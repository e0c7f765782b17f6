import { printable } from './output.ts';

/** One thing that is wrong in a file, or is accepted and may not do what its author thinks. */
export interface Problem {
  readonly file: string;
  /** From 1; undefined: the file as a whole. */
  readonly line: number | undefined;
  /** `rules[0].match.verbs[1]`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
}

/** `file:line: path: message`, as editors and CI read it. */
export const toProblemLine = ({ file, line, path, message }: Problem): string =>
  printable(
    [line === undefined ? file : `${file}:${line}`, path, message].filter((it) => it !== '').join(': '),
  );

/** Files are not as they must be: says each mistake on a line. */
export class MistakesError extends Error {
  readonly mistakes: readonly Problem[];

  constructor(mistakes: readonly Problem[], options: ErrorOptions = {}) {
    super(['there are mistakes:', ...mistakes.map(toProblemLine)].join('\n'), options);
    this.mistakes = mistakes;
  }
}
