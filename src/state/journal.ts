import { GatewayError } from '../core/errors.ts';
import { toHead } from './journal/line.ts';
import { Segments } from './journal/segments.ts';
import { Shipper } from './journal/shipper.ts';
import type { CallBatch, RecordedCall } from './store.ts';

/*
 * Every call leaves a line here before its answer leaves, so that a killed process has not forgotten what it
 * let out. The files are also the queue towards the store. Lines are read back from them to be shipped, so
 * memory stays small when the store is away. The next process ships what was not shipped. It ships the rest
 * of the last segment a second time, marked as such. `recordCalls` takes that, and no position has to be
 * kept.
 */

export interface JournalOptions {
  /** The folder, which belongs to this process alone. */
  readonly dir: string;
  /** Takes calls in order, some again, as `Store.recordCalls`; answers how many lines were unreadable. */
  readonly ship: (batch: CallBatch) => Promise<number>;
  /** Told of every failure to ship, and of lines that cannot be read. */
  readonly onError: (error: unknown) => void;
  /** Default 16 MB. */
  readonly segmentBytesMax?: number;
  /** The limit of all files together; above it calls are refused. Default 1 GB. */
  readonly bytesMax?: number;
  /** A line waits no longer than this for company. Default 250. */
  readonly shipIntervalMs?: number;
  /** The size of one shipment; a full one goes at once, and a longer line goes alone. Default 512 KB. */
  readonly shipBatchBytes?: number;
}

/** Calls of one turn of the event loop; their lines are the first `bytes` of the block. */
interface Group extends PromiseWithResolvers<void> {
  bytes: number;
  readonly turn: NodeJS.Immediate;
}

/** A turn that brings more than this is written in several goes. */
const blockBytes = 1024 * 1024;
/** UTF-8 needs no more for a UTF-16 code unit. */
const bytesPerUnitMax = 3;
const newline = 0x0a;

/** Opens the journal and begins to ship what an earlier process left behind. */
export class Journal {
  readonly #segments;
  readonly #shipper;
  // Lines are encoded where they are written from: no text grows by concatenation, and none is copied twice.
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
   * Resolves when the line is in the file: it survives the end of the process, not a power cut. All calls of
   * one turn of the event loop share one write and one promise. Rejects with STATE_UNAVAILABLE when it cannot
   * be written: the call must not go.
   */
  append(call: RecordedCall): Promise<void> {
    if (this.#isClosed) return Promise.reject(new GatewayError('SHUTTING_DOWN', 'The journal is closed.'));
    try {
      return this.#appendLine(toHead(call), call.line);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Ships all appended calls, for whoever must find one at once. Rejects if the store does not take them. */
  async flush(): Promise<void> {
    this.#writeGroup();
    await this.#shipper.drain();
  }

  /** Returns bytes that are in the files and that the store has not taken. */
  waitingBytes(): number {
    return this.#segments.waitingBytes();
  }

  /** Writes and ships what the store takes; the rest stays for the next start. Never rejects. */
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
