/** Reads a feed piece by piece. It keeps nothing but the beginning of what has not ended yet. */
export interface Reader {
  write(bytes: Buffer): void;
  /** Ends the feed after its last piece. Throws FeedRefused where it ends in the middle of something. */
  end(): void;
  /** Returns the place that is being read, such as `line 17`. */
  place(): string;
}

/** Receives what the reader of a format finds. */
export interface Intake {
  /** Takes an indicator. Where its kind is undefined, its look decides. */
  take(listed: Listed): void;
  /** Notes an entry that should have been an indicator and is none. */
  malformed(): void;
  /** Notes an entry that is valid but no indicator for us, such as the hash of a file. */
  skip(): void;
}

export interface Listed {
  readonly text: string;
  readonly kind?: 'url' | 'host' | 'range' | undefined;
  readonly reference?: string | undefined;
  readonly threat?: string | undefined;
}
