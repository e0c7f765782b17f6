import { GatewayError } from '../errors.ts';
import { toLine } from './journal/line.ts';
import { openSegments } from './journal/segments.ts';
import { createShipper } from './journal/shipper.ts';
import type { RecordedCall } from './store.ts';

/*
 * Every call leaves a line here before its answer leaves, so that a killed process has not forgotten what it let out. The files
 * are also the queue towards the store: what is shipped is read back from them, so memory stays small when the store is away,
 * and what was not shipped is shipped by the next process. What is left of the last segment is shipped a second time then;
 * `recordCalls` takes that, and no position has to be kept.
 */

export interface Journal {
  /**
   * Resolves when the line is in the file: it survives the end of the process, not a power cut. All calls of one turn of the
   * event loop share one write and one promise. Rejects with STATE_UNAVAILABLE when it cannot be written: the call must not go.
   */
  append(call: RecordedCall): Promise<void>;
  /** Ships all that was appended so far; rejects when the store does not take it. For whoever must find a call at once. */
  flush(): Promise<void>;
  /** Writes and ships what waits, as far as the store takes it; the rest stays for the next start. Never rejects. */
  close(): Promise<void>;
}

export interface JournalOptions {
  /** Of this process alone. */
  readonly dir: string;
  /** Takes calls in order; must not mind taking some of them again. */
  readonly ship: (calls: readonly RecordedCall[]) => Promise<void>;
  /** Told of every failure to ship, and of lines that cannot be read. */
  readonly onError: (error: unknown) => void;
  /** Default 16 MB. */
  readonly segmentBytesMax?: number;
  /** Of all files together; beyond it calls are refused. Default 1 GB. */
  readonly bytesMax?: number;
  /** A line waits no longer than this for company. Default 250. */
  readonly shipIntervalMs?: number;
  /** So many lines are shipped at once, and at once. Default 500. */
  readonly shipBatchMax?: number;
}

/** Calls of one turn of the event loop. */
interface Group extends PromiseWithResolvers<void> {
  text: string;
  lines: number;
  readonly turn: NodeJS.Immediate;
}

/** A turn that brings more than this is written in several goes. */
const groupLengthMax = 4 * 1024 * 1024;

/** Opens the journal and begins to ship what an earlier process left behind. */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { dir, ship, onError, shipIntervalMs = 250, shipBatchMax = 500 } = options;
  const { segmentBytesMax = 16 * 1024 * 1024, bytesMax = 1024 * 1024 * 1024 } = options;
  const segments = openSegments({ dir, segmentBytesMax, bytesMax });
  const shipper = createShipper(segments, { ship, onError, shipIntervalMs, shipBatchMax });
  let group: Group | undefined;
  let isClosed = false;

  const openGroup = (): Group => ({
    text: '',
    lines: 0,
    turn: setImmediate(writeGroup),
    ...Promise.withResolvers<void>(),
  });

  function writeGroup(): void {
    if (!group) return;
    const { text, lines, turn, resolve, reject } = group;
    group = undefined;
    clearImmediate(turn);
    try {
      segments.write(text);
    } catch (error) {
      reject(error);
      return;
    }
    resolve();
    shipper.notice(lines);
  }

  function append(call: RecordedCall): Promise<void> {
    if (isClosed) return Promise.reject(new GatewayError('SHUTTING_DOWN', 'The journal is closed.'));
    try {
      const line = toLine(call);
      group ??= openGroup();
      group.text += line;
      group.lines += 1;
    } catch (error) {
      return Promise.reject(error);
    }
    const { promise } = group;
    if (group.text.length > groupLengthMax) writeGroup();
    return promise;
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

  // What an earlier process left behind.
  shipper.notice(0);
  return { append, flush, close };
}
