import type { Intake, Reader } from '../readers.ts';

/** How a kind of feed is read. */
export interface Format {
  /** The prefix of all references of its indicators. */
  readonly referenceBase: string;
  /** `opening`: the first line that is neither blank nor a comment, as far as it has come. */
  open(intake: Intake, opening: string): Reader;
}
