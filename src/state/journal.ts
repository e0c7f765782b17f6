import { GatewayError } from '../core/errors.ts';
import { toHead } from './journal/line.ts';
import { Segments } from './journal/segments.ts';
import { Shipper } from './journal/shipper.ts';
import type { CallBatch, RecordedCall } from './store.ts';

/*
 * Every call leaves a line in the journal before its answer leaves. So a process that is killed loses no call
 * that it let out. The files are also the queue to the store: lines are read back from them to be shipped. So
 * memory stays small while the store is away. The next process ships what was not shipped. It ships the rest
 * of the last segment a second time, marked as such. `recordCalls` allows that, so no position has to be
 * kept.
 */

export interface JournalOptions {
  /** The folder of the files. It belongs to this process alone. */
  readonly dir: string;
  /**
   * Takes calls in order, some of them a second time, as `Store.recordCalls` does. Resolves to the number of
   * unreadable lines.
   */
  readonly ship: (batch: CallBatch) => Promise<number>;
  /** Receives every failure to ship, and reports of lines that cannot be read. */
  readonly onError: (error: unknown) => void;
  /** The limit of one file, in bytes. 16 MB by default. */
  readonly segmentBytesMax?: number;
  /** The limit of all files together, in bytes; above it calls are refused. 1 GB by default. */
  readonly bytesMax?: number;
  /** The longest that a line waits for others to be shipped with, in milliseconds. 250 by default. */
  readonly shipIntervalMs?: number;
  /**
   * The size of one shipment, in bytes. A full one is shipped at once, and a longer line alone. 512 KB by
   * default.
   */
  readonly shipBatchBytes?: number;
}

/** The calls of one turn of the event loop. Their lines are the first `bytes` of the block. */
interface Group extends PromiseWithResolvers<void> {
  bytes: number;
  readonly turn: NodeJS.Immediate;
}

/**
 * The size of the block that collects the lines of a turn. A turn that brings more is written in several
 * steps.
 */
const blockBytes = 1024 * 1024;
/** The most bytes that UTF-8 needs for a UTF-16 code unit. */
const bytesPerUnitMax = 3;
const newline = 0x0a;

/**
 * Writes calls into files and ships them to the store, beginning with those that an earlier process left
 * behind.
 */
export class Journal {
  readonly #segments;
  readonly #shipper;
  // Lines are encoded into the block that is written. So no text grows by concatenation, and no line is
  // copied twice.
  readonly #block = Buffer.allocUnsafeSlow(blockBytes);
  #group: Group | undefined;
  #isClosed = false;

  constructor(options: JournalOptions) {
    const { dir, ship, onError, shipIntervalMs = 250, shipBatchBytes = 512 * 1024 } = options;
    const { segmentBytesMax = 16 * 1024 * 1024, bytesMax = 1024 * 1024 * 1024 } = options;
    this.#segments = new Segments({ dir, segmentBytesMax, bytesMax });
    this.#shipper = new Shipper(this.#segments, { ship, onError, shipIntervalMs, shipBatchBytes });
    // Lines that an earlier process left behind are shipped as well.
    this.#shipper.notice();
  }

  /**
   * Resolves when the line is in the file, where it survives the end of the process but not a power cut. All
   * calls of one turn of the event loop share one write and one promise. Rejects with STATE_UNAVAILABLE when
   * the line cannot be written; the call must then not go out.
   */
  append(call: RecordedCall): Promise<void> {
    if (this.#isClosed) return Promise.reject(new GatewayError('SHUTTING_DOWN', 'The journal is closed.'));
    try {
      return this.#appendLine(toHead(call), call.line);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Ships all appended calls, for callers that must find one at once. Rejects if the store does not take
   * them.
   */
  async flush(): Promise<void> {
    this.#writeGroup();
    await this.#shipper.drain();
  }

  /** Returns the number of bytes that are in the files and that the store has not taken. */
  waitingBytes(): number {
    return this.#segments.waitingBytes();
  }

  /** Writes what waits and ships what the store takes. The rest stays for the next start. Never rejects. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#shipper.stop();
    await this.flush().catch(() => {
      // The shipper has reported it; the lines stay in their files.
    });
    this.#segments.close();
  }

  #writeGroup(): void {
    if (!this.#group) return;
    const { bytes, turn, resolve, reject } = this.#group;
    this.#group = undefined;
    clearImmediate(turn);
    try {
      this.#segments.write(this.#block.subarray(0, bytes));
    } catch (error) {
      reject(error);
      return;
    }
    resolve();
    this.#shipper.notice();
  }

  #appendLine(head: string, line: string): Promise<void> {
    const room = (head.length + line.length) * bytesPerUnitMax + 1;
    if (room > blockBytes - (this.#group?.bytes ?? 0)) this.#writeGroup();
    if (room > blockBytes) return this.#writeAlone(`${head}${line}\n`);
    this.#group ??= {
      ...Promise.withResolvers<void>(),
      bytes: 0,
      turn: setImmediate(() => this.#writeGroup()),
    };
    let { bytes } = this.#group;
    bytes += this.#block.write(head, bytes);
    bytes += this.#block.write(line, bytes);
    this.#block[bytes] = newline;
    this.#group.bytes = bytes + 1;
    return this.#group.promise;
  }

  async #writeAlone(text: string): Promise<void> {
    this.#segments.write(Buffer.from(text));
    this.#shipper.notice();
  }
}
