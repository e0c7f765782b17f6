/** A connection, or one of the streams that share one. */
export interface Closable {
  /** Tells whether it is gone: then it may never emit 'close' again. */
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}
