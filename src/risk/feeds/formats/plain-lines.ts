import { LineReader } from '../lines.ts';
import type { Intake, Reader } from '../readers.ts';

/** One entry a line. Blank lines and comments (`#`, `;`, `//`, `!` at their beginning) are passed over. */
export function readLines(intake: Intake, onEntry: (line: string) => void): Reader {
  return new LineReader((line, isCut) => {
    const text = line.trim();
    if (text === '' || /^(?:#|;|\/\/|!)/.test(text)) return;
    if (isCut) intake.malformed();
    else onEntry(text);
  });
}
