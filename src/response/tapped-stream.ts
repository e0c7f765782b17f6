import { withoutAnswerBodyFields } from '../wire/client/scrub/body-fields.ts';
import type { Answer } from '../wire/http1/answer.ts';
import { DecodedStream } from './decoding.ts';
import { EventGate } from './event-gate.ts';
import type { EventTap } from './tap.ts';

interface TappedStreamOptions {
  readonly status: number;
  /** Flat fields of the head. The length of the body is not known yet. */
  readonly fields: string[];
  /** Hears what comes, without its coding. */
  onData(bytes: Buffer): void;
  /** Tells whether so many more bytes may be kept. What was granted is given back with a negative number. */
  keep(bytes: number): boolean;
  /** Notes that more is taken again, after `write` has returned false. */
  onFlow(): void;
  /** Hears, once, that nothing more comes in. */
  onRefused(): void;
}

/** Writes an answer that is let in event by event. Its head goes out with the first event. */
export class TappedStream {
  /** Trailers that may come in. */
  trailers: [string, string][] = [];
  readonly #answer: Answer;
  readonly #tap: EventTap;
  readonly #options: TappedStreamOptions;
  readonly #gate: EventGate;
  readonly #decoded: DecodedStream | undefined;
  #isHeadDue = true;
  /** Tells whether the trailers may not come in. */
  #isEndRefused = false;

  constructor(answer: Answer, tap: EventTap, options: TappedStreamOptions) {
    this.#answer = answer;
    this.#tap = tap;
    this.#options = options;
    this.#gate = this.#openGate();
    if (tap.coding === '') return;
    const decoded = this.#openDecoding();
    this.#decoded = decoded;
    answer.on('drain', () => decoded.resume());
  }

  /**
   * Tells whether the head has not gone out. A stream that breaks off before its first event is no answer.
   */
  get isHeadDue(): boolean {
    return this.#isHeadDue;
  }

  sendHead(): void {
    if (!this.#isHeadDue) return;
    this.#isHeadDue = false;
    this.#answer.writeHead(this.#options.status, this.#options.fields);
  }

  /**
   * Writes a chunk. Returns false where no more is taken for now; then `onFlow` or a drain of the answer
   * follows.
   */
  write(chunk: Buffer): boolean {
    if (this.#decoded) return this.#decoded.write(chunk);
    this.#options.onData(chunk);
    return this.#gate.write(chunk);
  }

  end(chunk: Buffer | undefined): void {
    if (this.#decoded) {
      this.#decoded.end(chunk);
      return;
    }
    if (chunk) this.#options.onData(chunk);
    this.#gate.end(chunk);
  }

  refuseEnd(): void {
    this.#isEndRefused = true;
  }

  /** Stops decoding and keeps nothing, where nobody wants the stream any more. */
  close(): void {
    this.#decoded?.close();
    this.#gate.close();
  }

  /** Tells whether another answer was given, since this one failed before any of it had gone out. */
  get #isReplaced(): boolean {
    return this.#isHeadDue && this.#answer.headersSent;
  }

  #openDecoding(): DecodedStream {
    const { onData, onFlow } = this.#options;
    return new DecodedStream({
      coding: this.#tap.coding,
      sink: this.#gate,
      onData,
      onFlow,
      onBroken: (error) => {
        this.#tap.broken(error);
        this.#gate.refuse();
      },
    });
  }

  #openGate(): EventGate {
    return new EventGate({
      answer: this.#answer,
      splitter: this.#tap.splitter(),
      read: async (event) => {
        const bytes = await this.#tap.admit(event);
        if (this.#isReplaced || this.#answer.destroyed) return undefined;
        this.sendHead();
        return bytes;
      },
      keep: (bytes) => this.#options.keep(bytes),
      onCrowded: () => this.#tap.crowded(),
      onFlow: () => {
        if (this.#decoded) this.#decoded.resume();
        else this.#options.onFlow();
      },
      onEnd: () => {
        if (this.#isEndRefused) this.#endRefused();
        else this.#endWith(withoutBodyTrailers(this.trailers), undefined);
      },
      onRefused: () => this.#endRefused(),
    });
  }

  #endRefused(): void {
    const answer = this.#answer;
    const isReplaced = this.#isReplaced;
    this.#options.onRefused();
    this.close();
    if (isReplaced || answer.destroyed) return;
    this.sendHead();
    const { trailers = [], event } = this.#tap.lastWords;
    if (trailers.length > 0 && !answer.chunkedEncoding) answer.destroy();
    else this.#endWith(trailers, event);
  }

  #endWith(trailers: [string, string][], last: Buffer | undefined): void {
    this.sendHead();
    const answer = this.#answer;
    if (trailers.length > 0 && answer.chunkedEncoding) answer.addTrailers(trailers);
    answer.end(last);
  }
}

export const withoutBodyTrailers = (trailers: [string, string][]): [string, string][] =>
  trailers.filter(([name, value]) => withoutAnswerBodyFields([name, value]).length > 0);
