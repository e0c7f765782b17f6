import { Pace } from '../util/pace.ts';
import type { Answer } from '../wire/http1/answer.ts';
import type { StreamSink } from './decoding.ts';
import type { Splitter, StreamEvent } from './framing.ts';

interface EventGateOptions {
  readonly answer: Answer;
  readonly splitter: Splitter;
  /** Resolves to the bytes that come in for an event, or to undefined where none may. Never rejects. */
  read(event: StreamEvent): Promise<Buffer | undefined>;
  /** Tells whether so many more bytes may be kept. What was granted is given back with a negative number. */
  keep(bytes: number): boolean;
  /** Hears, once, that there was no room for an event. The stream is then refused. */
  onCrowded(): void;
  /** Notes that the gate takes more again, after `write` has returned false. */
  onFlow(): void;
  /** Notes, once, that all of the stream has come in. */
  onEnd(): void;
  /**
   * Ends the answer, once, in place of the first event that may not come in. The gate writes nothing any
   * more.
   */
  onRefused(): void;
}

/** Bytes that may wait to be read before the sender has to wait. So many are not counted as kept. */
const waitingBytesMax = 65_536;
/** Milliseconds for which events are read before other work has its turn. */
const turnMsMax = 5;

/**
 * Lets the events of a stream in one by one, in their order, each as soon as it was read. What is clean comes
 * in byte for byte as it came.
 */
export class EventGate implements StreamSink {
  readonly #options: EventGateOptions;
  /** Events that wait to be read. */
  readonly #events: StreamEvent[] = [];
  #waitingBytes = 0;
  #keptBytes = 0;
  #isReading = false;
  #isBlocked = false;
  /** Tells whether the answer takes no more for now. */
  #isFull = false;
  #isEnded = false;
  #isRefused = false;

  constructor(options: EventGateOptions) {
    this.#options = options;
    options.answer.on('drain', () => {
      this.#isFull = false;
    });
  }

  write(chunk: Buffer): boolean {
    if (this.#isRefused) return true;
    this.#split(chunk);
    this.#pump();
    if (!this.#keep()) {
      this.#options.onCrowded();
      this.refuse();
      return true;
    }
    this.#isBlocked = this.#heldBytes > waitingBytesMax && this.#isReading;
    return !this.#isBlocked && !this.#isFull;
  }

  end(chunk?: Buffer): void {
    if (this.#isRefused) return;
    if (chunk) this.#split(chunk);
    const last = this.#options.splitter.end();
    if (last) this.#add(last);
    this.#isEnded = true;
    this.#pump();
  }

  /** Ends the stream for a reason that no event has given. */
  refuse(): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#events.length = 0;
    this.#options.onRefused();
  }

  /** Takes nothing more and gives back what was kept, where nobody wants the stream any more. */
  close(): void {
    this.#isRefused = true;
    this.#events.length = 0;
    this.#options.keep(-this.#keptBytes);
    this.#keptBytes = 0;
  }

  get #heldBytes(): number {
    return this.#waitingBytes + this.#options.splitter.pendingBytes;
  }

  /** Counts the bytes that are held now. Returns false where there is no room for them. */
  #keep(): boolean {
    const bytes = Math.max(0, this.#heldBytes - waitingBytesMax);
    if (bytes === this.#keptBytes) return true;
    if (!this.#options.keep(bytes - this.#keptBytes)) return false;
    this.#keptBytes = bytes;
    return true;
  }

  #split(chunk: Buffer): void {
    for (const event of this.#options.splitter.push(chunk)) this.#add(event);
  }

  #add(event: StreamEvent): void {
    this.#events.push(event);
    this.#waitingBytes += event.bytes.length;
  }

  /** Reads one event behind the other, so that none overtakes one that is still being read. */
  #pump(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#readAll()
      .then(() => this.#rest())
      // A stream that the answer does not take can only be cut off: its head was sent.
      .catch(() => {
        this.#isRefused = true;
        this.#options.answer.destroy();
      });
  }

  /** Goes on with what came meanwhile, or ends, once all before it was read. */
  #rest(): void {
    this.#isReading = false;
    if (this.#isRefused) return;
    if (this.#events.length > 0) this.#pump();
    else if (this.#isEnded) this.#options.onEnd();
    else if (this.#isBlocked) {
      this.#isBlocked = false;
      this.#options.onFlow();
    }
  }

  async #readAll(): Promise<void> {
    const { answer, read, onRefused } = this.#options;
    const pace = new Pace(turnMsMax);
    for (let event = this.#events.shift(); event; event = this.#events.shift()) {
      if (pace.isDue()) await pace.turn();
      this.#waitingBytes -= event.bytes.length;
      const bytes = await read(event);
      if (this.#isRefused) return;
      if (answer.destroyed) this.#isRefused = true;
      else if (bytes) this.#isFull = !answer.write(bytes);
      else {
        this.#isRefused = true;
        onRefused();
      }
      if (this.#isRefused) this.#events.length = 0;
    }
  }
}
