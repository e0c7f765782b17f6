import { traceIdLength } from '../../../core/ids.ts';
import { createCache } from '../../cache.ts';
import { type CallOrigin, parseOrigin } from '../../journal/line.ts';
import { wasLetOut } from '../../rules/destinations.ts';
import { windowOf } from '../../rules/habits.ts';
import { hourOf } from '../../rules/limits.ts';
import { idAt, nextLine, traceWindowMs } from '../../traces/lines.ts';
import { createStatTally, FactReader, type MinuteCounts } from '../../traces/stats.ts';
import type { CallTally } from '../counts/counters.ts';

/*
 * Sorts batches into chunks (`traces/lines.ts`): the lines of one batch, one tenant and one second of ids, as
 * they came. Thousands of rows of a few hundred bytes cost five times as much as one of half a megabyte.
 */

export interface Chunk {
  readonly tenantId: string;
  /** The times of the earliest and the latest id; both lie in one window. */
  firstMs: number;
  lastMs: number;
  count: number;
  bytes: number;
  /** The pieces of the batch that belong to the chunk, in order, as offsets in bytes. */
  readonly runs: { start: number; end: number }[];
}

export interface SortedBatch {
  readonly chunks: Chunk[];
  /** The origins whose touched destinations are not stored yet, with the time of the first touch. */
  readonly touched: Map<KnownOrigin, number>;
  /** The counts of all calls of the batch. */
  readonly tallies: readonly CallTally[];
  readonly stats: readonly MinuteCounts[];
  /** The number of lines that are not whole. */
  readonly unreadable: number;
}

interface KnownOrigin extends CallOrigin {
  /** Whether its destinations need no writing. It is set once they are written. */
  isStored: boolean;
  /** The tally of its last calls in the batch that is being sorted, and of their ten minutes. */
  tally: CallTally | undefined;
  /** The number of calls with marks in the batch before those of the tally. */
  markedBefore: number;
}

/** The limit of a chunk, in bytes. A chunk that would grow beyond it is followed by another. */
export const chunkBytesMax = 512 * 1024;
const originsMax = 32_768;
/**
 * The longest origin that is remembered, in characters. Longer ones are parsed each time, since their names
 * come from requests.
 */
const originLengthMax = 1_024;

const newline = '\n';
const lineEnd = 0x0a;
const tab = 0x09;
const brace = 0x7d;
const idTime = /^([0-9a-f]{8})-([0-9a-f]{4})-7$/;
const idTimeLength = 15;
/** The field of the time with its tabs, which count as white space where it is read as a number. */
const timeField = /^\t\d{1,15}\t$/;

/** Sorts batches into chunks, and remembers origins from one batch to the next. */
export class Sorter {
  #origins = createCache<KnownOrigin>(originsMax);
  readonly #facts = new FactReader('latin1');
  readonly #stats = createStatTally();

  sort(lines: Uint8Array<ArrayBuffer>): SortedBatch {
    // The text has one character for each byte, so positions in it are positions in the batch. A string is
    // the cheapest to search.
    const content = toBuffer(lines);
    const text = content.toString('latin1');
    const batch = new Batch();
    let chunk: Chunk | undefined;
    let idStart = '';
    let ms = Number.NaN;
    let timeText = '';
    let atMs = Number.NaN;
    for (let start = 0, end = 0; start < text.length; start = end) {
      end = text.indexOf(newline, start) + 1 || text.length;
      // Calls of one millisecond stand side by side, so each time is parsed once.
      if (!text.startsWith(idStart, start) || idStart === '') {
        idStart = text.slice(start, start + idTimeLength);
        const [, high = '', low = ''] = idTime.exec(idStart) ?? [];
        ms = Number.parseInt(high + low, 16);
      }
      if (!text.startsWith(timeText, start + traceIdLength) || timeText === '') {
        timeText = text.slice(start + traceIdLength, text.indexOf('\t', start + traceIdLength + 1) + 1);
        atMs = timeField.test(timeText) ? Number(timeText) : Number.NaN;
      }
      const isTimed = !Number.isNaN(ms) && !Number.isNaN(atMs);
      const lineAt = isTimed ? traceAt(content, text, start, end) : -1;
      const origin = lineAt === -1 ? undefined : this.#readOrigin(content, text, start, lineAt);
      if (!origin) {
        batch.unreadable += 1;
        idStart = '';
        timeText = '';
        continue;
      }
      batch.count(origin, ms, atMs);
      this.#stats.add(origin, atMs, this.#facts.read(text, lineAt, end));
      if (!chunk || chunk.tenantId !== origin.tenantId || !fits(chunk, ms, end - start)) {
        chunk = batch.chunkFor(origin.tenantId, ms, end - start);
      }
      extend(chunk, ms, start, end);
    }
    for (const { origin } of batch.tallies) origin.tally = undefined;
    const { chunks, touched, tallies, unreadable } = batch;
    return { chunks, touched, tallies, stats: this.#stats.take(), unreadable };
  }

  forget(): void {
    this.#origins = createCache<KnownOrigin>(originsMax);
  }

  /** Returns the fields between the time and the trace; undefined where they are no origin. */
  #readOrigin(content: Buffer, text: string, start: number, lineAt: number): KnownOrigin | undefined {
    const originAt = text.indexOf('\t', start + traceIdLength + 1) + 1;
    // The origin is no slice of the text, since a remembered slice would keep all of the text in memory.
    return this.#originOf(content.toString('latin1', originAt, lineAt));
  }

  #originOf(text: string): KnownOrigin | undefined {
    const known = this.#origins.get(text);
    if (known) return known;
    const parsed = parseOrigin(Buffer.from(text, 'latin1').toString());
    if (!parsed) return undefined;
    const origin = { ...parsed, isStored: !wasLetOut(parsed), tally: undefined, markedBefore: 0 };
    if (text.length <= originLengthMax) this.#origins.set(text, origin);
    return origin;
  }
}

/** The counts and chunks of one batch while it is sorted. */
class Batch {
  readonly chunks: Chunk[] = [];
  readonly touched = new Map<KnownOrigin, number>();
  readonly tallies: (CallTally & { readonly origin: KnownOrigin })[] = [];
  unreadable = 0;
  readonly #open = new Map<string, Chunk>();
  #marked = 0;

  /** Counts a call: `ms` is the time of its id, `atMs` its own. */
  count(origin: KnownOrigin, ms: number, atMs: number): void {
    if (!origin.isStored && !this.touched.has(origin)) this.touched.set(origin, ms);
    const window = windowOf(atMs);
    const { tally, markedBefore } = origin;
    // A call with marks ends a run of clean calls. Calls before it and after it are not one run.
    if (origin.marks) this.#marked += 1;
    if (tally?.window !== window || markedBefore !== this.#marked) {
      origin.markedBefore = this.#marked;
      const added = { origin, window, hour: hourOf(atMs), count: 1, firstMs: atMs, lastMs: atMs };
      origin.tally = added;
      this.tallies.push(added);
      return;
    }
    tally.count += 1;
    if (atMs < tally.firstMs) tally.firstMs = atMs;
    if (atMs > tally.lastMs) tally.lastMs = atMs;
  }

  chunkFor(tenantId: string, atMs: number, bytes: number): Chunk {
    const key = `${Math.floor(atMs / traceWindowMs)} ${tenantId}`;
    const standing = this.#open.get(key);
    if (standing && fits(standing, atMs, bytes)) return standing;
    const added = { tenantId, firstMs: atMs, lastMs: atMs, count: 0, bytes: 0, runs: [] };
    this.#open.set(key, added);
    this.chunks.push(added);
    return added;
  }
}

/** Returns the place of the tab before the trace; -1 where the line is not whole. */
function traceAt(content: Buffer, text: string, start: number, end: number): number {
  const idEnd = start + traceIdLength;
  if (content[idEnd] !== tab || content[end - 2] !== brace || content[end - 1] !== lineEnd) return -1;
  const originAt = text.indexOf('\t', idEnd + 1) + 1;
  const lineAt = originAt === 0 ? -1 : text.indexOf('\t{', originAt);
  return lineAt >= end ? -1 : lineAt;
}

const fits = ({ firstMs, bytes }: Chunk, ms: number, more: number): boolean =>
  bytes + more <= chunkBytesMax && Math.floor(firstMs / traceWindowMs) === Math.floor(ms / traceWindowMs);

function extend(chunk: Chunk, ms: number, start: number, end: number): void {
  const last = chunk.runs.at(-1);
  if (last?.end === start) last.end = end;
  else chunk.runs.push({ start, end });
  if (ms < chunk.firstMs) chunk.firstMs = ms;
  if (ms > chunk.lastMs) chunk.lastMs = ms;
  chunk.count += 1;
  chunk.bytes += end - start;
}

/** Returns the lines of a chunk. They are copied only where lines of other chunks stand between. */
export function linesOf({ runs }: Chunk, lines: Uint8Array<ArrayBuffer>): Buffer {
  const pieces = runs.map(({ start, end }) => toBuffer(lines.subarray(start, end)));
  const [first] = pieces;
  return first && pieces.length === 1 ? first : Buffer.concat(pieces);
}

/** Adds the ids of all lines to `ids`. */
export function collectIds(lines: Buffer, ids: Set<string>): void {
  for (let at = 0; at < lines.length; at = nextLine(lines, at)) ids.add(idAt(lines, at));
}

/**
 * Returns the lines whose ids are not among `ids`, and adds these ids. Of two lines with one id, the first
 * stays.
 */
export function withoutRepeats(lines: Buffer, ids: Set<string>): Buffer {
  const kept: Buffer[] = [];
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = nextLine(lines, at);
    const id = idAt(lines, at);
    if (ids.has(id)) continue;
    ids.add(id);
    kept.push(lines.subarray(at, next));
  }
  return Buffer.concat(kept);
}

export const toBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length);
