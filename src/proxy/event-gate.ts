import type { Answer } from '../http1/answer.ts';

export interface EventGateOptions {
  readonly answer: Answer;
  /** Of one event; of a longer one each part of this size is read by itself. */
  readonly bytesMax: number;
  /** Whether an empty line ends an event (HTML Living Standard, 9.2.6), or any line end does, as in NDJSON. */
  readonly endsWith: 'empty line' | 'line';
  /** Whether it may come in. Never rejects. */
  read(event: Buffer): Promise<boolean>;
  /** Takes more again, after `write` has answered false. */
  onFlow(): void;
  /** Called once, in place of the first event that may not come in; nothing is written any more. */
  onRefused(): void;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** More than this is not taken before what came before it was read. */
const waitingBytesMax = 65_536;

/**
 * Lets the events of a stream in one by one, each as soon as it was read and byte for byte as it came. It waits for no other one: what is clean
 * is held for no longer than it takes to read it.
 */
export class EventGate {
  readonly #options: EventGateOptions;
  /** Whole events that wait to be read. */
  readonly #events: Buffer[] = [];
  #waitingBytes = 0;
  /** Of the event that has not ended. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  /** Since the last line end; the second half of one of two bytes is none. */
  #isLineEmpty = true;
  #isAfterReturn = false;
  #isReading = false;
  #isBlocked = false;
  /** The answer takes no more for now. */
  #isFull = false;
  #isEnded = false;
  #isRefused = false;

  constructor(options: EventGateOptions) {
    this.#options = options;
    options.answer.on('drain', () => {
      this.#isFull = false;
    });
  }

  /** False where it should wait for `onFlow`, or for the answer to take more. */
  write(chunk: Buffer): boolean {
    if (this.#isRefused) return true;
    this.#split(chunk);
    this.#pump();
    this.#isBlocked = this.#waitingBytes + this.#partBytes > waitingBytesMax && this.#isReading;
    return !this.#isBlocked && !this.#isFull;
  }

  end(chunk?: Buffer): void {
    if (this.#isRefused) return;
    if (chunk) this.#split(chunk);
    this.#endEvent();
    this.#isEnded = true;
    this.#pump();
  }

  #split(chunk: Buffer): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (!this.#endsAt(chunk[at] as number)) {
        if (this.#partBytes + at + 1 - from < this.#options.bytesMax) continue;
      }
      this.#grow(chunk.subarray(from, at + 1));
      this.#endEvent();
      from = at + 1;
    }
    this.#grow(chunk.subarray(from));
  }

  /** Whether an event ends with this byte. A line feed that completes a line end which ended one belongs to the next one. */
  #endsAt(byte: number): boolean {
    const isAfterReturn = this.#isAfterReturn;
    this.#isAfterReturn = byte === carriageReturn;
    if (byte === lineFeed && isAfterReturn) return false;
    if (byte !== lineFeed && byte !== carriageReturn) {
      this.#isLineEmpty = false;
      return false;
    }
    const wasEmpty = this.#isLineEmpty;
    this.#isLineEmpty = true;
    return wasEmpty || this.#options.endsWith === 'line';
  }

  #grow(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#parts.push(bytes);
    this.#partBytes += bytes.length;
  }

  #endEvent(): void {
    if (this.#partBytes === 0) return;
    const [first, ...others] = this.#parts;
    this.#events.push(first && others.length === 0 ? first : Buffer.concat(this.#parts));
    this.#waitingBytes += this.#partBytes;
    this.#parts = [];
    this.#partBytes = 0;
  }

  /** One behind the other: none overtakes one that is still being read. */
  #pump(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#readAll().then(
      () => this.#rest(),
      // What an answer does not take can only be cut off: its head was sent.
      () => {
        this.#isRefused = true;
        this.#options.answer.destroy();
      },
    );
  }

  /** All that came was read. */
  #rest(): void {
    this.#isReading = false;
    if (this.#isRefused) return;
    if (this.#events.length > 0) this.#pump();
    else if (this.#isEnded) this.#options.answer.end();
    else if (this.#isBlocked) {
      this.#isBlocked = false;
      this.#options.onFlow();
    }
  }

  async #readAll(): Promise<void> {
    const { answer, read, onRefused } = this.#options;
    for (let event = this.#events.shift(); event; event = this.#events.shift()) {
      this.#waitingBytes -= event.length;
      const mayComeIn = await read(event);
      if (answer.destroyed) this.#isRefused = true;
      else if (mayComeIn) this.#isFull = !answer.write(event);
      else {
        this.#isRefused = true;
        onRefused();
      }
      if (this.#isRefused) this.#events.length = 0;
    }
  }
}
