import { LineReader } from '../lines.ts';
import type { Intake, Reader } from '../readers.ts';

/** Reads one entry a line. Passes over blank lines and comments (`#`, `;`, `//`, `!` at their beginning). */
export function readLines(intake: Intake, onEntry: (line: string) => void): Reader {
  return new LineReader((line, isCut) => {
    const text = line.trim();
    if (text === '' || /^(?:#|;|\/\/|!)/.test(text)) return;
    if (isCut) intake.malformed();
    else onEntry(text);
  });
}
