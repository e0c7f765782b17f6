import type { Intake, Reader } from '../readers.ts';

/** The way a kind of feed is read. */
export interface Format {
  /** The beginning that all references of its indicators share. */
  readonly referenceBase: string;
  /**
   * Creates the reader of a feed. `opening` is the first line that is neither blank nor a comment, as far as
   * it has come.
   */
  open(intake: Intake, opening: string): Reader;
}
