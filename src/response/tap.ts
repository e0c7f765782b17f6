import type { LastWords, Splitter, StreamEvent } from './framing.ts';

/* The port between a tapped answer and whoever decides what becomes of it. */

/** The part of an answer that is to be read. */
export interface TappedBytes {
  readonly status: number;
  readonly bytes: Buffer;
  /**
   * Extent of the bytes. `cut`: there is more of the answer than is read; `crowded`: more than there was room
   * for in memory.
   */
  readonly extent: 'whole' | 'cut' | 'crowded';
}

export interface Tap {
  /** Bytes of an answer that are read. */
  readonly bytesMax: number;
  /** Tells whether a held answer that is longer is refused; else the rest of it passes unread. */
  readonly endsBeyond?: boolean;
  /** Admits fields of the head, whatever is done with the body; by default all. */
  admitHead?(status: number, fields: readonly string[]): FieldsJudgement;
  /** Admits trailers; by default all. */
  admitTrailers?(status: number, trailers: readonly [string, string][]): TrailersJudgement;
  /** Chooses the handling by the answer's head and, once it is there, its first chunk; `fields` is flat. */
  handling(status: number, fields: readonly string[], chunk: Buffer | undefined): Handling;
  /** Tells whether so many more bytes may be kept. What was granted is given back with a negative number. */
  keep(bytes: number): boolean;
  /** Hears every chunk as it comes, also behind what is read. */
  hear?(chunk: Buffer): void;
  /** Tells whether a whole answer that has gone out need not be read. */
  isKnownClean(bytes: Buffer): boolean;
  /**
   * Resolves to the judgement of an answer. It is called once, if any of the answer was to be read. Never
   * rejects.
   */
  seen(answer: TappedBytes): Promise<TappedJudgement>;
  /** Tap for an answer that is handled as events. */
  readonly events?: EventTap | undefined;
  /** Returns the head of an answer that goes out redacted, for these reasons. */
  redactedFields(fields: readonly string[], reasons: readonly string[]): string[];
  /** Answers something else in place of a held answer. */
  refuse(refused: Refused): void;
}

/** Handles a stream that is let in event by event. */
export interface EventTap {
  /** Content coding that is to be taken off the stream; '' where there is none. */
  readonly coding: string;
  /** Creates what takes the stream apart. */
  splitter(): Splitter;
  /** Resolves to the bytes that come in for an event, or to undefined where none may. Never rejects. */
  admit(event: StreamEvent): Promise<Buffer | undefined>;
  /** Hears that there was no room for an event. The stream then ends with the last words. */
  crowded(): void;
  /** Hears that the stream is not what its coding says. The stream then ends with the last words. */
  broken(error: Error): void;
  /** End of the stream in place of a refused event. */
  readonly lastWords: LastWords;
}

export type Handling = 'pass' | 'read' | 'hold' | 'events';
export type TappedJudgement = 'pass' | Refused | Redacted;

export interface Refused {
  readonly refusal: unknown;
}

export type FieldsJudgement = Refused | { readonly fields: string[] };
export type TrailersJudgement = Refused | AdmittedTrailers;

interface AdmittedTrailers {
  readonly trailers: [string, string][];
  /** Reasons why some trailers were cut; empty where none was. */
  readonly reasons: readonly string[];
}

export interface Redacted {
  /** Text that goes out in place of the answer, without a content coding. */
  readonly instead: Buffer;
  readonly reasons: readonly string[];
}
