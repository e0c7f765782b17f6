export interface ConnectionLimits {
  /** The limit of the request line and all fields together. */
  readonly maxHeaderBytes: number;
  readonly maxHeaders: number;
  /** For a head, from its first byte; for the first one from the beginning of the connection. */
  readonly headerTimeoutMs: number;
  /** For a body, beyond what its head might have taken. */
  readonly bodyTimeoutMs: number;
  /** Between requests, and for the end of an answer to be taken. */
  readonly idleTimeoutMs: number;
}

/** For how many ticks a connection may do what. */
export interface AllowedTicks {
  readonly head: number;
  /** Returns a whole request, from its first byte, with this time for its body or with the daemon's. */
  request(bodyTimeoutMs?: number): number;
  readonly idle: number;
  readonly linger: number;
}

/** A connection that is served. */
export interface Served {
  /** Its place among the others. */
  slot: number;
  /** Asked at every tick. */
  checkDeadline(allowed: AllowedTicks): void;
  /** Closes it where no request is under way; else the next answer does. */
  drain(): void;
}

/** State that all connections share. */
export interface ServingContext {
  /** The present, in ticks of their clock. */
  readonly tick: number;
  readonly isDraining: boolean;
  readonly keepAliveLines: string;
  limits(): ConnectionLimits;
  /** It is closed. */
  delete(connection: Served): void;
}
