/** A form in which traces leave. */
export interface ExportFormat {
  readonly contentType: string;
  readonly extension: string;
  /** Before the first trace, though there be none. */
  readonly head: string;
  /** Returns a trace, which is given as JSON text, with what ends it. */
  toText(trace: string): string;
}
