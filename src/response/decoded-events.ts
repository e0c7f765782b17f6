import type { Transform } from 'node:stream';
import { inflaterOf } from '../inspect/decode/packed/inflate.ts';

/** Takes a stream as it comes. */
export interface EventSink {
  /** False where it should wait for `onFlow`, or for the answer to take more. */
  write(chunk: Buffer): boolean;
  end(chunk?: Buffer): void;
}

export interface DecodedEventsOptions {
  /** One that can be decoded as it comes. */
  readonly coding: string;
  /** Takes what is decoded. */
  readonly sink: EventSink;
  /** Told of what is decoded, before the sink. */
  onData(decoded: Buffer): void;
  /** Takes more again, after `write` has answered false. */
  onFlow(): void;
  /** Called once: it is not what its coding says. */
  onBroken(error: Error): void;
}

/**
 * Takes the content coding off a stream on its way to whoever takes its events. A little that decodes to very much is decoded no faster than
 * that is taken.
 */
export class DecodedEvents implements EventSink {
  readonly #options: DecodedEventsOptions;
  #inflater: Transform | undefined;

  constructor(options: DecodedEventsOptions) {
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

  /** The sink takes more again. */
  resume(): void {
    this.#inflater?.resume();
  }

  /** Nobody wants it any more. */
  close(): void {
    this.#inflater?.destroy();
  }

  #open(start: Buffer): Transform {
    const { coding, sink, onData, onFlow, onBroken } = this.#options;
    const inflater = inflaterOf(coding, start);
    inflater.on('data', (decoded: Buffer) => {
      onData(decoded);
      if (!sink.write(decoded)) inflater.pause();
    });
    inflater.on('drain', onFlow);
    inflater.on('end', () => sink.end());
    inflater.on('error', onBroken);
    return inflater;
  }
}
