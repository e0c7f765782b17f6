import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { stateUnavailable } from '../../../core/errors.ts';
import { traceWindowMs } from '../../traces/lines.ts';
import type { TraceWindow } from '../../traces/list.ts';
import type { RedisConnection } from './connection.ts';
import type { CallNames } from './names.ts';

/*
 * Keeps traces in Redis. Each second of ids (a window) has a list of compressed chunks and a hash of ids; an
 * index lists the windows. One key for each trace would take eight times the memory, and a search would go
 * through a million keys.
 */

/**
 * The limit of a chunk when it is unpacked, in bytes. Chunks have far less text, unless one long line stands
 * alone.
 */
const chunkBytesMax = 64 * 1024 * 1024;
/**
 * The size of a piece when a chunk is unpacked, in bytes. Most chunks fit into one, which takes half the time
 * of two.
 */
const chunkSize = 128 * 1024;

export const secondOf = (ms: number): number => Math.floor(ms / traceWindowMs);

/**
 * Returns an id as sixteen bytes instead of thirty-six, since each id is kept once more, beside its chunk.
 */
export const idBytes = (traceId: string): Buffer => Buffer.from(traceId.replaceAll('-', ''), 'hex');

/** The fastest level. The next levels cost half as much again, and save no room. */
const quickly = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

// Compressing a chunk of a hundred traces takes a tenth of a millisecond. In another thread it would cost the
// process three times as much.
export const toChunk = (lines: string): Buffer => zstdCompressSync(Buffer.from(lines), quickly);

export function fromChunk(chunk: Buffer): Buffer {
  try {
    return zstdDecompressSync(chunk, { maxOutputLength: chunkBytesMax, chunkSize });
  } catch (error) {
    throw stateUnavailable('Traces in Redis cannot be read.', error);
  }
}

/**
 * The limit of windows that a long search asks for ahead. `chunksAtOnce` is that of the chunks of a window
 * that are asked for at once.
 */
const aheadMax = 32;
const chunksAtOnce = 64;
const windowsAtOnce = 256;

/** Yields the windows with these starts. */
export async function* windowsOf(
  connection: RedisConnection,
  names: CallNames,
  starts: AsyncIterable<number>,
): AsyncGenerator<TraceWindow> {
  // The first page of a list usually needs the newest window alone. A search that goes further goes far.
  let ahead = 1;
  const pending: TraceWindow[] = [];
  for await (const startMs of starts) {
    pending.push(readAhead(connection, names, secondOf(startMs)));
    if (pending.length < ahead) continue;
    ahead = Math.min(2 * ahead, aheadMax);
    const next = pending.shift();
    if (next) yield next;
  }
  yield* pending;
}

/**
 * Yields the starts of a tenant's windows with traces, newest first: see `LikelySource` of
 * `traces/likely.ts`.
 */
export async function* startsOf(
  connection: RedisConnection,
  { windows }: CallNames,
  newestMs: number,
  oldestMs: number,
): AsyncGenerator<number> {
  for (let bound = String(secondOf(newestMs)); ; ) {
    const range = [windows, bound, secondOf(oldestMs), 'BYSCORE', 'REV', 'LIMIT', 0, windowsAtOnce];
    const seconds = (await connection.call('ZRANGE', ...range)) as string[];
    for (const it of seconds) yield Number(it) * traceWindowMs;
    const last = seconds.at(-1);
    if (last === undefined || seconds.length < windowsAtOnce) return;
    bound = `(${last}`;
  }
}

function readAhead(connection: RedisConnection, names: CallNames, second: number): TraceWindow {
  const first = readChunks(connection, names, second, 0);
  // This read may fail while an earlier window is looked at. Whoever looks at this window gets the error.
  first.catch(() => undefined);
  return { startMs: second * traceWindowMs, chunks: () => chunksOf(connection, names, second, first) };
}

const readChunks = async (connection: RedisConnection, names: CallNames, second: number, from: number) =>
  (await connection.callBuffers(
    'LRANGE',
    names.chunks(second),
    from,
    from + chunksAtOnce - 1,
  )) as readonly Buffer[];

async function* chunksOf(
  connection: RedisConnection,
  names: CallNames,
  second: number,
  first: Promise<readonly Buffer[]>,
): AsyncGenerator<Buffer> {
  for (let from = 0; ; from += chunksAtOnce) {
    const chunks = await (from === 0 ? first : readChunks(connection, names, second, from));
    for (const chunk of chunks) yield fromChunk(chunk);
    if (chunks.length < chunksAtOnce) return;
  }
}
