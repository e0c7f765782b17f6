/* What the process of several test files tells run.ts about each of them. */

/** The variable that names the files, as a JSON list. */
export const filesVariable = 'POSTERN_TEST_FILES';

export interface Ended {
  readonly file: string;
  readonly isPassed: boolean;
  readonly pass: number;
  readonly fail: number;
  /** With those that are still to be written. */
  readonly skip: number;
}

const mark = 'ended: ';

export const endedLine = (ended: Ended): string => `${mark}${JSON.stringify(ended)}`;

/** What a line of TAP tells, if it is a comment that `endedLine` has made. */
export function readEnded(line: string): Ended | undefined {
  const beginning = `# ${mark}`;
  return line.startsWith(beginning) ? JSON.parse(line.slice(beginning.length)) : undefined;
}
