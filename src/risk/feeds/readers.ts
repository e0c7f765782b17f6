/** Reads a feed piece by piece; nothing of it is kept but the beginning of what has not ended yet. */
export interface Reader {
  write(bytes: Buffer): void;
  /** After the last piece. Throws FeedRefused where the feed ends in the middle of something. */
  end(): void;
  /** Returns the present place: `line 17`. */
  place(): string;
}

/** Receives what a format reads. */
export interface Intake {
  /** Takes an indicator. Without a kind it is taken for what it looks like. */
  take(listed: Listed): void;
  /** Notes that here should have been an indicator and is none. */
  malformed(): void;
  /** Passes over what is right and none of our business, such as the hash of a file. */
  skip(): void;
}

export interface Listed {
  readonly text: string;
  readonly kind?: 'url' | 'host' | 'range' | undefined;
  readonly reference?: string | undefined;
  readonly threat?: string | undefined;
}
