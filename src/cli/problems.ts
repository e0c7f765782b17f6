import type { FileProblem } from '../policy/index.ts';
import { printable } from './output.ts';

export type Problem = FileProblem;

/** Returns `file:line:column: path: message`, as editors and CI read it, without what is not known. */
export function toProblemLine({ file, line, column, path, message }: Problem): string {
  const place = [file, line, column].filter((it) => it !== undefined).join(':');
  return printable([place, path, message].filter((it) => it !== '').join(': '));
}

/** Says that files are not as they must be, with a line for each mistake. */
export class MistakesError extends Error {
  readonly mistakes: readonly Problem[];

  constructor(mistakes: readonly Problem[], options: ErrorOptions = {}) {
    super(['there are mistakes:', ...mistakes.map(toProblemLine)].join('\n'), options);
    this.mistakes = mistakes;
  }
}
