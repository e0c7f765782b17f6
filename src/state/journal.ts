import { GatewayError } from '../core/errors.ts';
import { toHead } from './journal/line.ts';
import { Segments } from './journal/segments.ts';
import { Shipper } from './journal/shipper.ts';
import type { CallBatch, RecordedCall } from './store.ts';

/*
 * Every call leaves a line here before its answer leaves, so that a killed process has not forgotten what it let out.
 * The files are also the queue towards the store. Lines are read back from them to be shipped, so memory stays small
 * when the store is away. The next process ships what was not shipped. It ships the rest of the last segment a second
 * time, marked as such. `recordCalls` takes that, and no position has to be kept.
 */

export interface Journal {
  /**
   * Resolves when the line is in the file: it survives the end of the process, not a power cut. All calls of one turn of the
   * event loop share one write and one promise. Rejects with STATE_UNAVAILABLE when it cannot be written: the call must not go.
   */
  append(call: RecordedCall): Promise<void>;
  /** Ships all that was appended so far; rejects when the store does not take it. For whoever must find a call at once. */
  flush(): Promise<void>;
  /** Bytes that are in the files and that the store has not taken. */
  waitingBytes(): number;
  /** Writes and ships what waits, as far as the store takes it; the rest stays for the next start. Never rejects. */
  close(): Promise<void>;
}

export interface JournalOptions {
  /** The folder, which belongs to this process alone. */
  readonly dir: string;
  /** `Store.recordCalls`: takes calls in order, some of them again, and answers how many lines it could not read. */
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
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { dir, ship, onError, shipIntervalMs = 250, shipBatchBytes = 512 * 1024 } = options;
  const { segmentBytesMax = 16 * 1024 * 1024, bytesMax = 1024 * 1024 * 1024 } = options;
  const segments = new Segments({ dir, segmentBytesMax, bytesMax });
  const shipper = new Shipper(segments, { ship, onError, shipIntervalMs, shipBatchBytes });
  // Lines are encoded where they are written from: no text grows by concatenation, and none is copied twice.
  const block = Buffer.allocUnsafeSlow(blockBytes);
  let group: Group | undefined;
  let isClosed = false;

  function writeGroup(): void {
    if (!group) return;
    const { bytes, turn, resolve, reject } = group;
    group = undefined;
    clearImmediate(turn);
    try {
      segments.write(block.subarray(0, bytes));
    } catch (error) {
      reject(error);
      return;
    }
    resolve();
    shipper.notice();
  }

  function append(call: RecordedCall): Promise<void> {
    if (isClosed) return Promise.reject(new GatewayError('SHUTTING_DOWN', 'The journal is closed.'));
    try {
      return appendLine(toHead(call), call.line);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  function appendLine(head: string, line: string): Promise<void> {
    const room = (head.length + line.length) * bytesPerUnitMax + 1;
    if (room > blockBytes - (group?.bytes ?? 0)) writeGroup();
    if (room > blockBytes) return writeAlone(`${head}${line}\n`);
    group ??= { ...Promise.withResolvers<void>(), bytes: 0, turn: setImmediate(writeGroup) };
    let { bytes } = group;
    bytes += block.write(head, bytes);
    bytes += block.write(line, bytes);
    block[bytes] = newline;
    group.bytes = bytes + 1;
    return group.promise;
  }

  async function writeAlone(text: string): Promise<void> {
    segments.write(Buffer.from(text));
    shipper.notice();
  }

  async function flush(): Promise<void> {
    writeGroup();
    await shipper.drain();
  }

  async function close(): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    shipper.stop();
    await flush().catch(() => {
      // The shipper has reported it; the lines stay in their files.
    });
    segments.close();
  }

  // Lines that an earlier process left behind are shipped as well.
  shipper.notice();
  return { append, flush, waitingBytes: () => segments.waitingBytes(), close };
}
