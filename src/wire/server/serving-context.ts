export interface ConnectionLimits {
  /** Bytes that the request line and all fields together may have. */
  readonly maxHeaderBytes: number;
  readonly maxHeaders: number;
  /** Time for a head, from its first byte; for the first head from the beginning of the connection. */
  readonly headerTimeoutMs: number;
  /** Time for a body, beyond what its head might have taken. */
  readonly bodyTimeoutMs: number;
  /** Time between requests, and for the client to take the end of an answer. */
  readonly idleTimeoutMs: number;
}

/** Ticks that a connection may take, by what it does. */
export interface AllowedTicks {
  readonly head: number;
  /**
   * Returns the ticks for a whole request, from its first byte. Its body may take `bodyTimeoutMs`, or the
   * daemon's time where that is not given.
   */
  request(bodyTimeoutMs?: number): number;
  readonly idle: number;
  /** Between the bytes that a client sends behind its last answer. */
  readonly linger: number;
  /**
   * For the rest of a refused body, which is read and dropped, however many bytes it has. Many clients read
   * the answer only once they have sent all of it.
   */
  readonly lingerInAll: number;
}

/** A connection that is served. */
export interface Served {
  /** Index of the connection among all that are served. */
  slot: number;
  /** Ends what is late. It is called at every tick. */
  checkDeadline(allowed: AllowedTicks): void;
  /** Closes the connection where no request is under way; else the connection closes with the answer. */
  drain(): void;
}

/** State that all connections share. */
export interface ServingContext {
  /** The present, in ticks of the clock that all connections share. */
  readonly tick: number;
  readonly isDraining: boolean;
  readonly keepAliveLines: string;
  limits(): ConnectionLimits;
  /** Forgets a connection, which has closed or was handed on. */
  delete(connection: Served): void;
}
