import { changeProgram } from '../support/change-program.ts';

/* Makes a process the next version, which writes another format, that this one reads: `node --import next-version.ts`. */

changeProgram([
  { from: /\bnumber: 1,(\s+)readableFrom: 1\b/, to: 'number: 2,$1readableFrom: 1' },
  { from: 'return String(version);', to: "return '99.0.0';" },
]);
