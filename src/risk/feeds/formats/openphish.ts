import type { Format } from './format.ts';
import { readLines } from './plain-lines.ts';

/** OpenPhish: `feed.txt`, with one URL a line. */
export const openphish: Format = {
  referenceBase: '',
  open: (intake) => readLines(intake, (line) => intake.take({ text: line, kind: 'url', threat: 'phishing' })),
};
