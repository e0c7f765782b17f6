import { setImmediate as nextTurn } from 'node:timers/promises';
import { traceIdLength } from '../../core/ids.ts';
import { traceIdsFrom } from '../../core/trace-time.ts';
import { notACursor } from '../rules/cursor.ts';
import type { Page, Paged, TraceFilter } from '../store.ts';
import type { AnsweredSource, AnswerFact } from './answer-facts.ts';
import { createSearch, matchesTrace } from './filter.ts';
import { type LikelySource, likelyStarts, type SearchReach } from './likely.ts';
import { type TraceLine, traceWindowMs } from './lines.ts';

/*
 * Lists go backwards through windows of one second, the span of a chunk. The traces of a window are read
 * together, put in the order of their ids, and looked at one by one. A cursor is the id before which the next
 * page begins. So nothing that stood on a page comes again, and nothing is skipped that was findable when its
 * page was read. Another node may later ship a trace with an older id. It is on a page that is still to come,
 * or, where the walk has passed its id, on none.
 */

/** The traces of one tenant in one second. */
export interface TraceWindow {
  readonly startMs: number;
  /** Yields the chunks in the order in which they came. */
  chunks(): Iterable<Buffer> | AsyncIterable<Buffer>;
}

/** Traces of one tenant, as a driver has them. */
export interface TraceSource extends LikelySource, AnsweredSource {
  /**
   * Yields the windows with these starts, in that order. A driver may begin to read some before they are
   * asked for.
   */
  windows(starts: AsyncIterable<number>): AsyncIterable<TraceWindow>;
}

/**
 * The bytes, or windows, that are read for a page before it ends. Searches for rare calls take several pages.
 */
const bytesPerPage = 8 * 1024 * 1024;
const windowsPerPage = 2_000;
/**
 * The time after which a page ends, in milliseconds, once it has read `windowsPerPageMin` windows. Whoever
 * waits asks for the next one.
 */
const pageMsMax = 120;
const windowsPerPageMin = 100;
/** The bytes, or windows, after which other work gets its turn. Half a megabyte takes a millisecond. */
const bytesPerTurn = 256 * 1024;
const windowsPerTurn = 25;
const exportedMax = 250;

/** Returns one page. A trace that came twice is listed once, as it came first. */
export async function listTraces(
  source: TraceSource,
  filter: TraceFilter,
  { limit, cursor }: Page,
): Promise<Paged<string>> {
  const items: string[] = [];
  const endMs = performance.now() + pageMsMax;
  const reach: SearchReach = { isLate: () => performance.now() > endMs };
  let bytes = 0;
  let count = 0;
  for await (const window of walk(source, filter, firstBound(cursor, filter.beforeMs), reach)) {
    for (const { traceId, trace } of window.found) {
      items.push(trace);
      if (items.length >= limit) return { items, nextCursor: toCursor(traceId) };
    }
    bytes += window.bytes;
    count += 1;
    const isLate = count >= windowsPerPageMin && reach.isLate();
    if (isLate || count >= windowsPerPage || bytes >= bytesPerPage)
      return { items, nextCursor: toCursor(traceIdsFrom(window.startMs)) };
  }
  return { items, nextCursor: reach.leftMs === undefined ? null : toCursor(traceIdsFrom(reach.leftMs + 1)) };
}

/**
 * Yields all traces in small batches, in the order of a list; nothing is read before it is asked for. Batches
 * may be empty. So a caller who looks for rare traces learns now and then that the search goes on, and may
 * end it.
 */
export async function* exportTraces(
  source: TraceSource,
  filter: TraceFilter,
): AsyncGenerator<readonly string[]> {
  let batch: string[] = [];
  let bytes = 0;
  let count = 0;
  for await (const window of walk(source, filter, firstBound(undefined, filter.beforeMs))) {
    for (const { trace } of window.found) {
      batch.push(trace);
      if (batch.length < exportedMax) continue;
      yield batch;
      batch = [];
    }
    bytes += window.bytes;
    count += 1;
    if (bytes < bytesPerPage && count < windowsPerPage) continue;
    yield batch;
    batch = [];
    bytes = 0;
    count = 0;
  }
  if (batch.length > 0) yield batch;
}

interface WalkedWindow {
  readonly startMs: number;
  readonly bytes: number;
  /** The matching traces, newest first, decoded one by one. */
  readonly found: Iterable<{ readonly traceId: string; readonly trace: string }>;
}

async function* walk(
  source: TraceSource,
  filter: TraceFilter,
  before: string,
  reach?: SearchReach,
): AsyncGenerator<WalkedWindow> {
  const from = traceIdsFrom(filter.fromMs ?? 0);
  const search = createSearch(filter);
  let bytesInTurn = 0;
  let windowsInTurn = 0;
  const range = [lastMsBefore(before), filter.fromMs ?? 0] as const;
  const answered = new Map<number, ReadonlySet<string>>();
  const starts =
    filter.answer === undefined
      ? likelyStarts(source, filter, range, reach)
      : answeredStarts(source, filter.answer, range, answered);
  for await (const window of source.windows(starts)) {
    const wanted = answered.get(window.startMs);
    answered.delete(window.startMs);
    const lines: TraceLine[] = [];
    let bytes = 0;
    for await (const chunk of window.chunks()) {
      bytes += chunk.length;
      bytesInTurn += chunk.length;
      for (const line of search(chunk)) {
        if (line.traceId >= before || line.traceId < from) continue;
        if (!wanted || wanted.has(line.traceId)) lines.push(line);
      }
      if (bytesInTurn < bytesPerTurn) continue;
      await nextTurn();
      bytesInTurn = 0;
      windowsInTurn = 0;
    }
    // Traces with one id stay in the order in which they came.
    lines.sort((a, b) => (a.traceId < b.traceId ? 1 : a.traceId > b.traceId ? -1 : 0));
    yield { startMs: window.startMs, bytes, found: matching(lines, filter) };
    windowsInTurn += 1;
    if (windowsInTurn < windowsPerTurn) continue;
    await nextTurn();
    bytesInTurn = 0;
    windowsInTurn = 0;
  }
}

/** Yields the starts of windows that have answers with the fact. `answered` gets the traces of each. */
async function* answeredStarts(
  source: AnsweredSource,
  fact: AnswerFact,
  [newestMs, oldestMs]: readonly [newestMs: number, oldestMs: number],
  answered: Map<number, ReadonlySet<string>>,
): AsyncGenerator<number> {
  for await (const { startMs, traceIds } of source.answered(fact, newestMs, oldestMs)) {
    answered.set(startMs, traceIds);
    yield startMs;
  }
}

function* matching(lines: readonly TraceLine[], filter: TraceFilter) {
  let last = '';
  for (const line of lines) {
    if (line.traceId === last) continue;
    last = line.traceId;
    const trace = line.read();
    if (matchesTrace(filter, trace)) yield { traceId: line.traceId, trace };
  }
}

/** A bound that is greater than any id. */
const afterAll = 'g';
const cursorShape = /^[0-9a-f]{8}-[0-9a-f]{4}[0-9a-f-]{0,23}$/;

function firstBound(cursor: string | undefined, beforeMs: number | undefined): string {
  const byTime = beforeMs === undefined ? afterAll : traceIdsFrom(beforeMs);
  if (cursor === undefined) return byTime;
  const bound = Buffer.from(cursor, 'base64url').toString('latin1');
  if (!cursorShape.test(bound) || bound.length > traceIdLength || toCursor(bound) !== cursor)
    throw notACursor();
  return bound < byTime ? bound : byTime;
}

const toCursor = (before: string): string => Buffer.from(before).toString('base64url');

/** Returns the last millisecond whose ids may be less than `before`. */
function lastMsBefore(before: string): number {
  if (before === afterAll) return Number.MAX_SAFE_INTEGER - traceWindowMs;
  const ms = Number.parseInt(before.slice(0, 8) + before.slice(9, 13), 16);
  return before.length === traceIdLength ? ms : ms - 1;
}
