import type { Transform } from 'node:stream';
import { codingsOf, inflaterOf, isStreamable } from '../inspect/decode/packed/inflate.ts';
import type { OpenDecoding } from '../wire/client/decoding.ts';

/** Receives a stream as it comes. */
export interface StreamSink {
  /**
   * Takes a chunk. Returns false where the sender should wait for `onFlow`, or for the answer to take more.
   */
  write(chunk: Buffer): boolean;
  end(chunk?: Buffer): void;
}

interface DecodedStreamOptions {
  /** Content coding that can be decoded as it comes. */
  readonly coding: string;
  /** Receiver of what is decoded. */
  readonly sink: StreamSink;
  /** Hears what is decoded, before the sink gets it. */
  onData?(decoded: Buffer): void;
  /** Notes that more is taken again, after `write` has returned false. */
  onFlow(): void;
  /** Hears, once, that the stream is not what its coding says. */
  onBroken(error: Error): void;
}

/**
 * Takes one content coding off a stream. A little that decodes to very much is decoded no faster than the
 * sink takes it.
 */
export class DecodedStream implements StreamSink {
  readonly #options: DecodedStreamOptions;
  #inflater: Transform | undefined;

  constructor(options: DecodedStreamOptions) {
    this.#options = options;
  }

  write(chunk: Buffer): boolean {
    this.#inflater ??= this.#open(chunk);
    return this.#inflater.write(chunk);
  }

  end(chunk?: Buffer): void {
    if (chunk) this.write(chunk);
    if (this.#inflater) this.#inflater.end();
    else this.#options.sink.end();
  }

  /** Goes on, once the sink takes more again. */
  resume(): void {
    this.#inflater?.resume();
  }

  /** Stops, where nobody wants the stream any more. */
  close(): void {
    this.#inflater?.destroy();
  }

  #open(start: Buffer): Transform {
    const { coding, sink, onData, onFlow, onBroken } = this.#options;
    const inflater = inflaterOf(coding, start);
    inflater.on('data', (decoded: Buffer) => {
      onData?.(decoded);
      if (!sink.write(decoded)) inflater.pause();
    });
    inflater.on('drain', onFlow);
    inflater.on('end', () => sink.end());
    inflater.on('error', onBroken);
    return inflater;
  }
}

const codingsMax = 3;

/**
 * Takes up to three content codings off an answer as it comes. Returns undefined for more, and for one that
 * cannot be.
 */
export const openDecoding: OpenDecoding = (contentEncoding, { take, onFlow, ended, broken }) => {
  const codings = codingsOf(contentEncoding);
  if (codings.length > codingsMax || !codings.every(isStreamable)) return undefined;
  // Codings are listed in the order in which they were applied, so the last one comes off first.
  const layers: DecodedStream[] = [];
  for (const [at, coding] of codings.entries()) {
    layers.push(
      new DecodedStream({
        coding,
        sink: layers[at - 1] ?? { write: take, end: ended },
        onFlow() {
          const outer = layers[at + 1];
          if (outer) outer.resume();
          else onFlow();
        },
        onBroken: broken,
      }),
    );
  }
  const first = layers.at(-1);
  return (
    first && {
      write: (chunk) => first.write(chunk),
      end: () => first.end(),
      resume: () => layers[0]?.resume(),
      close() {
        for (const layer of layers) layer.close();
      },
    }
  );
};
