import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { stateUnavailable } from '../../../core/errors.ts';
import { traceWindowMs } from '../../traces/lines.ts';
import type { TraceWindow } from '../../traces/list.ts';
import type { RedisConnection } from './connection.ts';
import type { CallNames } from './names.ts';

/*
 * Traces in Redis. Each second of ids (a window) has a list of compressed chunks and a hash of ids; an index
 * lists the windows. One key a trace took eight times the memory, and a search went through a million keys.
 */

/** A script takes no more text than a part of this; one long line stands alone. */
const chunkBytesMax = 64 * 1024 * 1024;
/** The usual size of a chunk: reading one piece takes half the time of two. */
const chunkSize = 128 * 1024;

export const secondOf = (ms: number): number => Math.floor(ms / traceWindowMs);

/** Sixteen bytes instead of thirty-six: each id is kept once beside its chunk. */
export const idBytes = (traceId: string): Buffer => Buffer.from(traceId.replaceAll('-', ''), 'hex');

/** The fastest level: the next ones cost half as much again, and take no less room. */
const quickly = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

// A chunk of a hundred traces takes a tenth of a millisecond; to have another thread do it costs the process
// three times as much.
export const toChunk = (lines: string): Buffer => zstdCompressSync(Buffer.from(lines), quickly);

export function fromChunk(chunk: Buffer): Buffer {
  try {
    return zstdDecompressSync(chunk, { maxOutputLength: chunkBytesMax, chunkSize });
  } catch (error) {
    throw stateUnavailable('Traces in Redis cannot be read.', error);
  }
}

/** Bounds the windows asked for ahead in a long search, and the chunks of a window asked for at once. */
const aheadMax = 32;
const chunksAtOnce = 64;
const windowsAtOnce = 256;

/** Yields those windows of the tenant. */
export async function* windowsOf(
  connection: RedisConnection,
  names: CallNames,
  starts: AsyncIterable<number>,
): AsyncGenerator<TraceWindow> {
  // The first page of a list needs the newest one, and no more as a rule; whoever looks further looks far.
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

/** Yields starts of a tenant's windows with traces, newest first: `LikelySource` of `traces/likely.ts`. */
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
  // It may fail while an earlier one is looked at; who looks at this one is told.
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
