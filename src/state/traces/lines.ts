import { traceIdLength } from '../../core/ids.ts';

/*
 * Traces are kept as chunks, whatever the driver: lines of one tenant and one second of ids, as they came. A
 * line is the trace's id, fields that end with a tab, and the trace. A trace is looked for in the few chunks
 * around the time in its id.
 */

export const traceWindowMs = 1_000;

export const windowStart = (ms: number): number => Math.floor(ms / traceWindowMs) * traceWindowMs;
/** Returns the last millisecond of the window. */
export const windowEnd = (ms: number): number => windowStart(ms) + traceWindowMs - 1;

const lineEnd = 0x0a;

/** A line of a chunk; its trace is decoded only when it is asked for. */
export type TraceLine = ReturnType<typeof lineAt>;

export function* traceLines(lines: Buffer): Generator<TraceLine> {
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = nextLine(lines, at);
    yield lineAt(lines, at, next);
  }
}

/** Yields the lines that contain these bytes. A chunk without them costs one search. */
export function* traceLinesWith(lines: Buffer, wanted: Buffer): Generator<TraceLine> {
  for (let found = lines.indexOf(wanted); found !== -1; ) {
    const next = nextLine(lines, found);
    yield lineAt(lines, lines.lastIndexOf(lineEnd, found) + 1, next);
    found = next < lines.length ? lines.indexOf(wanted, next) : -1;
  }
}

const lineAt = (lines: Buffer, at: number, next: number) => {
  const end = lines[next - 1] === lineEnd ? next - 1 : next;
  return { traceId: idAt(lines, at), read: () => traceOf(lines.toString('utf8', at, end)) };
};

/**
 * Finds a trace's JSON by its id. It looks only at the beginning of lines, since traces quote what callers
 * wrote.
 */
export function findTrace(lines: Buffer, traceId: string): string | undefined {
  const wanted = Buffer.from(`${traceId}\t`);
  for (let at = lines.indexOf(wanted); at !== -1; at = lines.indexOf(wanted, at + 1)) {
    if (at > 0 && lines[at - 1] !== lineEnd) continue;
    return lineAt(lines, at, nextLine(lines, at)).read();
  }
  return undefined;
}

const traceOf = (line: string): string => line.slice(line.indexOf('\t{') + 1);

export const idAt = (lines: Buffer, at: number): string => lines.toString('latin1', at, at + traceIdLength);
export const nextLine = (lines: Buffer, at: number): number => lines.indexOf(lineEnd, at) + 1 || lines.length;
