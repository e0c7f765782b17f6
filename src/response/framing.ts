import type { GatewayError } from '../core/errors.ts';
import type { Piece } from './content.ts';

/* Framings say how a stream is made of pieces. A framing splits and joins; the inspector judges. */

/** The facts that a stream's head tells of its events. */
export interface StreamHead {
  /** Bytes of one event; a longer one is read in parts. */
  readonly bytesMax: number;
  readonly contentType: string;
  readonly grpcEncoding: string;
  /** Tells whether events must stay as they are: else nobody could put the parts of the content together. */
  readonly isFixed: boolean;
}

/** A part of a stream that is let in or refused as one. */
export interface StreamEvent {
  /** Bytes as they came, with all that marks their end or length. */
  readonly bytes: Buffer;
  /** Tells whether it is one part of an event that is longer than is read at once. */
  readonly isPart: boolean;
  /** Tells whether it is a part of a compressed message, which nobody can read by itself. */
  readonly isCoded?: boolean;
}

/** Takes a stream apart into events as it comes. All events together are the stream, byte for byte. */
export interface Splitter {
  /** Number of bytes of the event that has not ended. */
  readonly pendingBytes: number;
  push(chunk: Buffer): StreamEvent[];
  /** Returns the rest of the stream, when nothing follows; undefined where there is none. */
  end(): StreamEvent | undefined;
}

/** The end of a stream of which an event was refused. */
export interface LastWords {
  readonly event?: Buffer;
  readonly trailers?: [string, string][];
}

export interface Framing {
  splitter(): Splitter;
  /** Returns the piece that an event brings; undefined where there is nothing to read. */
  pieceOf(event: StreamEvent): Piece | undefined;
  /** Returns the event with other bytes in place of those of its piece. */
  join(event: StreamEvent, bytes: Buffer): Buffer;
  /** Puts an error into the form that readers of the stream understand. */
  lastWords(error: GatewayError, traceId: string): LastWords;
}
