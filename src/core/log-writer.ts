import { closeSync, constants, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** The bytes of lines that wait while the log cannot be written; what is beyond is dropped. */
const waitingBytesMax = 1024 * 1024;
const retryMs = 100;
/** The times that the end of the process waits `retryMs` for whoever reads the log. */
const lastTriesMax = 10;
const standardError = 2;
/** A pipe that nobody reads is an error, and not waited for. */
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/**
 * Writes the lines of the log to a file, or to standard error. A log that cannot be written, since the disk is
 * full or nobody reads, ends nothing and holds nothing up: its lines wait, up to a bound.
 */
export class LogWriter {
  readonly #onAgain: (error: unknown, dropped: number) => void;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #failure: unknown;
  #retry: NodeJS.Timeout | undefined;
  #descriptor: number;

  /** Opens a file, or standard error for null. `onAgain` is told why lines waited, once all of them are out. */
  constructor(file: string | null, onAgain: (error: unknown, dropped: number) => void) {
    this.#onAgain = onAgain;
    this.#descriptor = openLog(file);
  }

  /** Goes on in another file. Throws, with nothing changed, where it cannot be opened. */
  open(file: string | null): void {
    const before = this.#descriptor;
    this.#descriptor = openLog(file);
    if (before !== standardError) closeSync(before);
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > waitingBytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#retry === undefined) this.#flush();
  }

  readonly #flush = (): void => {
    this.#retry = undefined;
    try {
      this.#writeWaiting();
    } catch (error) {
      if (this.#failure === undefined) process.once('exit', this.#end);
      this.#failure ??= error;
      this.#retry = setTimeout(this.#flush, retryMs).unref();
      return;
    }
    if (this.#failure === undefined) return;
    process.off('exit', this.#end);
    const told = [this.#failure, this.#dropped] as const;
    this.#failure = undefined;
    this.#dropped = 0;
    this.#onAgain(...told);
  };

  #writeWaiting(): void {
    for (let [line] = this.#waiting; line; [line] = this.#waiting) {
      const written = writeSync(this.#descriptor, line);
      this.#waitingBytes -= written;
      if (written < line.length) this.#waiting[0] = line.subarray(written);
      else this.#waiting.shift();
    }
  }

  readonly #end = (): void => {
    for (let tries = 0; tries < lastTriesMax && this.#waitingBytes > 0; tries += 1) {
      this.#flush();
      if (this.#waitingBytes > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
    }
  };
}

function openLog(file: string | null): number {
  if (file === null) return standardError;
  mkdirSync(dirname(file), { recursive: true });
  return openSync(file, appending, 0o666);
}
