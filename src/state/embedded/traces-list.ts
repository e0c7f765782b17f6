import { setImmediate as nextTurn } from 'node:timers/promises';
import { timeOfTraceId, traceIdLength, traceIdsFrom } from '../../ids.ts';
import { matchesTrace } from '../journal/trace-filter.ts';
import type { Page, Paged, TraceFilter } from '../store.ts';
import { notACursor } from './listing.ts';
import { type TraceLine, traceLines, windowEnd, windowMs } from './traces-chunks.ts';
import type { ChunkReader } from './traces-reader.ts';

/*
 * Lists go backwards through windows of one second, since chunks are of one: those of a window are read together, put in the order of
 * their ids, and looked at one by one. A cursor is the id before which the next page begins.
 */

/** A page ends after the window with which it has read so much, or looked at so many: a search for what is rare takes several pages. */
const bytesPerPage = 8 * 1024 * 1024;
const windowsPerPage = 2_000;
/** After so many windows that hold little, others get their turn. */
const windowsPerTurn = 50;

export async function listTraces(
  chunks: ChunkReader,
  tenantId: string,
  filter: TraceFilter,
  { limit, cursor }: Page,
): Promise<Paged<string>> {
  const items: string[] = [];
  let before = firstBound(cursor, filter.beforeMs);
  let bytes = 0;
  for (let windows = 0; windows < windowsPerPage && bytes < bytesPerPage; windows += 1) {
    const newestMs = chunks.newest(tenantId, lastMsBefore(before));
    if (newestMs === undefined || windowEnd(newestMs) < (filter.fromMs ?? 0))
      return { items, nextCursor: null };
    const startMs = windowEnd(newestMs) - windowMs + 1;
    const found: TraceLine[] = [];
    for (const lines of chunks.between(tenantId, startMs, windowEnd(newestMs))) {
      bytes += lines.length;
      for (const line of traceLines(lines)) if (line.traceId < before) found.push(line);
      // Reading half a megabyte takes a millisecond.
      await nextTurn();
    }
    found.sort((a, b) => (a.traceId < b.traceId ? 1 : -1));
    for (const line of found) {
      if ((timeOfTraceId(line.traceId) ?? 0) < (filter.fromMs ?? 0)) return { items, nextCursor: null };
      const trace = line.read();
      if (matchesTrace(filter, trace)) items.push(trace);
      before = line.traceId;
      if (items.length >= limit) return { items, nextCursor: toCursor(before) };
    }
    before = traceIdsFrom(startMs);
    if (windows % windowsPerTurn === 0) await nextTurn();
  }
  return { items, nextCursor: toCursor(before) };
}

/** More than any id. */
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

/** The last millisecond of which an id may be less than `before`. */
function lastMsBefore(before: string): number {
  if (before === afterAll) return Number.MAX_SAFE_INTEGER;
  const ms = Number.parseInt(before.slice(0, 8) + before.slice(9, 13), 16);
  return before.length === traceIdLength ? ms : ms - 1;
}
