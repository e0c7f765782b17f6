/** A file format for exported traces. */
export interface ExportFormat {
  readonly contentType: string;
  readonly extension: string;
  /** Text in front of the first trace, which is written even where there is no trace. */
  readonly head: string;
  /** Returns the text of one trace, with its line end. The trace is given as JSON text. */
  toText(trace: string): string;
}
