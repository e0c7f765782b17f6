import { StringDecoder } from 'node:string_decoder';
import { LineEnds } from '../inspect/decode/line-ends.ts';

/** One server-sent event; `type` is '' where the stream names none. */
export interface ServerEvent {
  readonly type: string;
  readonly data: string;
}

interface EventStreamOptions {
  /** Bytes that one event may have. */
  readonly bytesMax: number;
  /** Tells whether so many more bytes may be kept. What was granted is given back with a negative number. */
  keep(bytes: number): boolean;
  onEvent(event: ServerEvent): void;
  /** Hears, in place of `onEvent`, that an event was too long or that there was no room for it. */
  onTooLong(): void;
}

/**
 * Reads server-sent events as they come (HTML Standard, 9.2.6). It keeps only the event that has not ended.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #decoder = new StringDecoder('utf8');
  readonly #lineEnds = new LineEnds();
  #line = '';
  #lineBytes = 0;
  #isFirstLine = true;
  #type = '';
  #data: string[] = [];
  #kept = 0;
  #isTooLong = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  take(chunk: Buffer): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const kind = this.#lineEnds.take(chunk[at] as number);
      if (kind === 'text') continue;
      if (kind === 'end') {
        this.#grow(chunk.subarray(from, at));
        this.#endLine();
      }
      from = at + 1;
    }
    this.#grow(chunk.subarray(from));
  }

  /** Gives back what was kept. An event that has not ended does not count. */
  end(): void {
    this.#forget();
  }

  #grow(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#lineBytes += bytes.length;
    if (this.#isTooLong) return;
    const { bytesMax, keep } = this.#options;
    if (this.#kept + bytes.length <= bytesMax && keep(bytes.length)) {
      this.#kept += bytes.length;
      this.#line += this.#decoder.write(bytes);
    } else {
      this.#forget();
      this.#isTooLong = true;
    }
  }

  #endLine(): void {
    const isEmpty = this.#lineBytes === 0;
    const text = this.#line + this.#decoder.end();
    const line = this.#isFirstLine ? text.replace(/^\ufeff/, '') : text;
    this.#line = '';
    this.#lineBytes = 0;
    this.#isFirstLine = false;
    if (isEmpty) this.#endEvent();
    else if (!this.#isTooLong) this.#takeField(line);
  }

  #takeField(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#type = value;
  }

  #endEvent(): void {
    const { onEvent, onTooLong } = this.#options;
    const event = { type: this.#type, data: this.#data.join('\n') };
    const isTooLong = this.#isTooLong;
    const hasData = this.#data.length > 0;
    this.#forget();
    if (isTooLong) onTooLong();
    else if (hasData) onEvent(event);
  }

  #forget(): void {
    this.#options.keep(-this.#kept);
    this.#kept = 0;
    this.#line = '';
    this.#type = '';
    this.#data = [];
    this.#isTooLong = false;
  }
}

/** Returns the data of all events of a stream that is there as a whole. */
export function eventsIn(stream: Buffer): string[] {
  const texts: string[] = [];
  const events = new EventStream({
    bytesMax: stream.length,
    keep: () => true,
    onEvent: ({ data }) => texts.push(data),
    onTooLong: () => undefined,
  });
  events.take(stream);
  return texts;
}
