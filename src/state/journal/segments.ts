import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { stateUnavailable } from '../../core/errors.ts';

interface Chunk {
  /** The lines, in memory that nothing else uses. */
  readonly lines: Uint8Array<ArrayBuffer>;
  /** The bytes to drop: those of the lines, or of a torn line at the end of a segment. */
  readonly bytes: number;
  /** Whether an earlier process wrote the lines. It may have shipped some of them. */
  readonly isInherited: boolean;
}

interface SegmentsOptions {
  readonly dir: string;
  /** The limit of one segment, in bytes. A segment that would grow beyond it is followed by a new one. */
  readonly segmentBytesMax: number;
  /** The limit of all segments together, in bytes. */
  readonly bytesMax: number;
}

interface Segment {
  readonly file: string;
  readonly fd: number;
  readonly isInherited: boolean;
  bytes: number;
  dropped: number;
}

const fileName = /^\d{10}\.journal$/;
const newline = 0x0a;
const noBytes = new Uint8Array(0);

/**
 * Keeps the files of a journal as one queue of bytes: written at the end, read and dropped at the front. A
 * later process never writes to a file again. A file is deleted once all of it was dropped.
 */
export class Segments {
  readonly #dir;
  readonly #segmentBytesMax;
  readonly #bytesMax;
  #number;
  /** The segments, oldest first. */
  readonly #segments;
  /** The segment that is written to; undefined until this process has made one. */
  #current: Segment | undefined;

  constructor({ dir, segmentBytesMax, bytesMax }: SegmentsOptions) {
    this.#dir = dir;
    this.#segmentBytesMax = segmentBytesMax;
    this.#bytesMax = bytesMax;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const names = readdirSync(dir)
      .filter((name) => fileName.test(name))
      .sort();
    this.#number = Number.parseInt(names.at(-1) ?? '0', 10);
    this.#segments = names.map((name) => openSegment(join(dir, name), 'r'));
  }

  /** Returns the number of bytes that were written and not dropped yet. */
  waitingBytes(): number {
    return this.#sum((segment) => segment.bytes - segment.dropped);
  }

  /**
   * Writes all of the content at the end, or nothing. Throws STATE_UNAVAILABLE if disk or journal is full.
   */
  write(content: Uint8Array): void {
    if (this.#sum((segment) => segment.bytes) + content.length > this.#bytesMax) {
      throw stateUnavailable(
        `The journal holds its ${this.#bytesMax} bytes of calls that the state has not taken yet.`,
      );
    }
    let segment: Segment | undefined;
    try {
      segment = this.#segmentFor(content.length);
      writeAll(segment, content);
    } catch (error) {
      if (segment) this.#repair(segment);
      throw stateUnavailable('The journal cannot be written; the log says why.', error);
    }
  }

  /**
   * Returns whole lines from the front, about `bytes` bytes of them, at least one line where there is one.
   */
  read(bytes: number): Chunk {
    const segment = this.#segments.find((it) => it.dropped < it.bytes);
    return segment ? readLines(segment, bytes) : { lines: noBytes, bytes: 0, isInherited: false };
  }

  /** Drops so many bytes from the front: those that `read` has returned. */
  drop(bytes: number): void {
    const segment = this.#segments.find((it) => it.dropped < it.bytes);
    if (segment) segment.dropped += bytes;
    for (const it of this.#segments.filter((it) => it !== this.#current && it.dropped >= it.bytes))
      this.#remove(it);
  }

  /** Closes the files, and deletes those of which nothing waits. */
  close(): void {
    this.#current = undefined;
    for (const it of this.#segments.filter((it) => it.dropped >= it.bytes)) this.#remove(it);
    for (const it of this.#segments.splice(0)) closeSync(it.fd);
  }

  #sum(of: (segment: Segment) => number) {
    return this.#segments.reduce((total, segment) => total + of(segment), 0);
  }

  #segmentFor(bytes: number): Segment {
    if (this.#current && (this.#current.bytes === 0 || this.#current.bytes + bytes <= this.#segmentBytesMax))
      return this.#current;
    this.#number += 1;
    this.#current = openSegment(join(this.#dir, `${String(this.#number).padStart(10, '0')}.journal`), 'wx+');
    this.#segments.push(this.#current);
    return this.#current;
  }

  /**
   * Removes what a failed write left behind. Should that fail too, this segment gets no more lines, and
   * readers drop its torn line.
   */
  #repair(segment: Segment): void {
    try {
      ftruncateSync(segment.fd, segment.bytes);
    } catch {
      // The write's own error is the one that is reported.
      this.#current = undefined;
    }
  }

  #remove(segment: Segment): void {
    this.#segments.splice(this.#segments.indexOf(segment), 1);
    closeSync(segment.fd);
    rmSync(segment.file, { force: true });
  }
}

function openSegment(file: string, flags: 'r' | 'wx+'): Segment {
  const fd = openSync(file, flags, 0o600);
  return { file, fd, isInherited: flags === 'r', bytes: fstatSync(fd).size, dropped: 0 };
}

function writeAll(segment: Segment, content: Uint8Array): void {
  for (let done = 0; done < content.length; ) {
    done += writeSync(segment.fd, content, done, content.length - done, segment.bytes + done);
  }
  segment.bytes += content.length;
}

function readLines(segment: Segment, bytes: number): Chunk {
  const waiting = segment.bytes - segment.dropped;
  for (let size = Math.min(bytes, waiting); ; size = Math.min(size * 2, waiting)) {
    const content = Buffer.allocUnsafeSlow(size);
    const filled = readSync(segment.fd, content, 0, size, segment.dropped);
    const end = content.subarray(0, filled).lastIndexOf(newline) + 1;
    const { isInherited } = segment;
    if (end > 0) return { lines: content.subarray(0, end), bytes: end, isInherited };
    if (size === waiting) return { lines: noBytes, bytes: waiting, isInherited };
  }
}
