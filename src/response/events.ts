import { LineEnds } from '../inspect/decode/line-ends.ts';
import { Gathered } from '../wire/http1/gathered.ts';
import type { Framing, Splitter, StreamEvent, StreamHead } from './framing.ts';

/** Frames server-sent events, each with its empty line, or the lines of any other stream of lines. */
export function eventFraming({ contentType, bytesMax, isFixed }: StreamHead): Framing {
  const endsWith = /^text\/event-stream\b/i.test(contentType) ? 'empty line' : 'line';
  return {
    splitter: () => new EventSplitter({ bytesMax, endsWith }),
    pieceOf: ({ bytes, isPart }) =>
      bytes.every(isLineEnd) ? undefined : { bytes, contentType, isPart, isFixed },
    join: (_, bytes) => bytes,
    lastWords({ code, message }, traceId) {
      const told = JSON.stringify({ code, reason: code, detail: message, trace_id: traceId });
      const event = endsWith === 'line' ? `${told}\n` : `event: error\ndata: ${told}\n\n`;
      return { event: Buffer.from(event) };
    },
  };
}

export interface EventSplitterOptions {
  /** Bytes of one event; a longer one comes in parts of this size. */
  readonly bytesMax: number;
  /** End of an event: an empty line (HTML Living Standard, 9.2.6), or any line end, as in NDJSON. */
  readonly endsWith: 'empty line' | 'line';
}

/**
 * Takes apart what comes in lines. A line feed that completes the line end of an event belongs to the next
 * event. Empty lines that come together are one event, since a stream of nothing else would have one in each
 * byte.
 */
export class EventSplitter implements Splitter {
  readonly #options: EventSplitterOptions;
  readonly #lineEnds = new LineEnds();
  readonly #pending = new Gathered();
  /** Tells whether nothing has come since the last line end. */
  #isLineEmpty = true;
  /** Tells whether only line ends have come of the event so far. */
  #isBlank = true;
  /** Tells whether a part of the event was given out already. */
  #isContinued = false;

  constructor(options: EventSplitterOptions) {
    this.#options = options;
  }

  get pendingBytes(): number {
    return this.#pending.length;
  }

  push(chunk: Buffer): StreamEvent[] {
    const events: StreamEvent[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const isEnd = this.#endsAt(chunk[at] as number);
      this.#isBlank &&= isLineEnd(chunk[at]);
      const isOver = isEnd && !(this.#isBlank && isLineEnd(chunk[at + 1]));
      if (!isOver && this.pendingBytes + at + 1 - from < this.#options.bytesMax) continue;
      this.#pending.add(chunk.subarray(from, at + 1));
      events.push(this.#take(isEnd));
      from = at + 1;
    }
    if (from < chunk.length) this.#pending.add(chunk.subarray(from));
    return events;
  }

  end(): StreamEvent | undefined {
    return this.pendingBytes === 0 ? undefined : this.#take(true);
  }

  /** Tells whether an event ends with this byte. */
  #endsAt(byte: number): boolean {
    const kind = this.#lineEnds.take(byte);
    if (kind === 'half') return false;
    const wasEmpty = this.#isLineEmpty;
    this.#isLineEmpty = kind === 'end';
    return kind === 'end' && (wasEmpty || this.#options.endsWith === 'line');
  }

  #take(isEnd: boolean): StreamEvent {
    const isPart = this.#isContinued || !isEnd;
    this.#isContinued = !isEnd;
    this.#isBlank = true;
    return { bytes: this.#pending.take(), isPart };
  }
}

const isLineEnd = (byte: number | undefined): boolean => byte === 0x0a || byte === 0x0d;
