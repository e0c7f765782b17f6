import type { LastWords, Splitter, StreamEvent } from './framing.ts';

/* What a tapped answer asks of whoever reads it. */

/** The part of an answer that was read. */
export interface TappedBytes {
  readonly status: number;
  readonly bytes: Buffer;
  /** `cut`: there is more of it than is read; `crowded`: more than there was room for in memory. */
  readonly extent: 'whole' | 'cut' | 'crowded';
}

export interface Tap {
  /** How much is read. */
  readonly bytesMax: number;
  /** A held answer that goes on behind them is refused; else the rest passes unread. */
  readonly endsBeyond?: boolean;
  /** Admits fields of the head, whatever is done with the body; by default all. */
  admitHead?(status: number, fields: readonly string[]): FieldsJudgement;
  /** Admits trailers; by default all. */
  admitTrailers?(status: number, trailers: readonly [string, string][]): TrailersJudgement;
  /** Chooses how to handle the answer, by its head and, once it is there, its first chunk; `fields` is flat. */
  handling(status: number, fields: readonly string[], chunk: Buffer | undefined): Handling;
  /** May so much more be kept in memory? What was granted is given back with a negative number. */
  keep(bytes: number): boolean;
  /** Told of every chunk as it comes, also behind what is read. */
  hear?(chunk: Buffer): void;
  /** Tells whether a whole answer that has gone out need not be read. */
  isKnownClean(bytes: Buffer): boolean;
  /** Called once, if any of it was to be read; never rejects. */
  seen(answer: TappedBytes): Promise<TappedJudgement>;
  /** The tap for an answer that is handled as events. */
  readonly events?: EventTap | undefined;
  /** The head of an answer that goes out redacted, for these reasons. */
  redactedFields(fields: readonly string[], reasons: readonly string[]): string[];
  /** A held answer does not go: answers something else in its place. */
  refuse(refused: Refused): void;
}

/** Handles a stream that is let in event by event. */
export interface EventTap {
  /** The one content coding that is to be taken off it; '' where there is none. */
  readonly coding: string;
  /** How it is taken apart. */
  splitter(): Splitter;
  /** The bytes that come in for an event; undefined where none may. Never rejects. */
  admit(event: StreamEvent): Promise<Buffer | undefined>;
  /** It is not what its coding says, and ends with the last words. */
  broken(error: Error): void;
  /** The last words, in place of a refused event. */
  readonly lastWords: LastWords;
}

export type Handling = 'pass' | 'read' | 'hold' | 'events';
export type TappedJudgement = 'pass' | Refused | Redacted;

export interface Refused {
  readonly refusal: unknown;
}

export type FieldsJudgement = Refused | { readonly fields: string[] };
export type TrailersJudgement = Refused | AdmittedTrailers;

export interface AdmittedTrailers {
  readonly trailers: [string, string][];
  /** Why some of them were cut; empty where none was. */
  readonly reasons: readonly string[];
}

export interface Redacted {
  /** The text that goes out in place of the answer, without a content coding. */
  readonly instead: Buffer;
  readonly reasons: readonly string[];
}
