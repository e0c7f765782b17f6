import type { GatewayError } from '../core/errors.ts';
import type { Piece } from './content.ts';

/* How a stream is made of pieces. A framing splits and joins; the inspector judges. */

/** The facts that the head of a stream tells of its events. */
export interface StreamHead {
  /** The limit of one event; a longer one is read in parts. */
  readonly bytesMax: number;
  readonly contentType: string;
  readonly grpcEncoding: string;
  /** Events must stay as they are, or nobody could put the parts of the content together. */
  readonly isFixed: boolean;
}

/** A part of a stream that is let in or refused as one. */
export interface StreamEvent {
  /** The bytes as they came, with all that marks their end or length. */
  readonly bytes: Buffer;
  /** One part of an event that is longer than is read at once. */
  readonly isPart: boolean;
  /** A part of a message that is compressed: by itself nobody can read it. */
  readonly isCoded?: boolean;
}

/** Takes a stream apart into its events as it comes, so that all of them together are the stream, byte for byte. */
export interface Splitter {
  /** Bytes of the event that has not ended. */
  readonly pendingBytes: number;
  push(chunk: Buffer): StreamEvent[];
  /** The rest, when nothing follows. */
  end(): StreamEvent | undefined;
}

/** The end of a stream of which an event was refused. */
export interface LastWords {
  readonly event?: Buffer;
  readonly trailers?: [string, string][];
}

export interface Framing {
  splitter(): Splitter;
  /** The piece that an event brings; undefined where there is nothing to read. */
  pieceOf(event: StreamEvent): Piece | undefined;
  /** The event with other bytes in place of those of its piece. */
  join(event: StreamEvent, bytes: Buffer): Buffer;
  /** The error in the form that readers of the stream understand. */
  lastWords(error: GatewayError, traceId: string): LastWords;
}
