import { uuidOf } from '../../core/ids.ts';
import type { AnsweredWindow } from '../traces/answer-facts.ts';
import { traceWindowMs } from '../traces/lines.ts';
import { secondOf } from './link/chunks.ts';
import type { RedisConnection } from './link/connection.ts';

/**
 * The number of traces that one question brings. Those of one second come together, however many they are.
 */
const tracesAtOnce = 256;

/**
 * Yields the traces of a key second by second, newest first: see `AnsweredSource` of
 * `traces/answer-facts.ts`.
 */
export async function* answeredOf(
  connection: RedisConnection,
  key: string,
  newestMs: number,
  oldestMs: number,
): AsyncGenerator<AnsweredWindow> {
  const oldest = secondOf(oldestMs);
  for (let bound = secondOf(newestMs); bound >= oldest; ) {
    const range = [key, bound, oldest, 'BYSCORE', 'REV', 'LIMIT', 0, tracesAtOnce, 'WITHSCORES'];
    const flat = (await connection.callBuffers('ZRANGE', ...range)) as readonly Buffer[];
    const seconds = new Map<number, Set<string>>();
    for (let at = 0; at < flat.length; at += 2) {
      const second = Number(String(flat[at + 1]));
      const ids = seconds.get(second) ?? new Set();
      seconds.set(second, ids.add(toTraceId(flat[at] as Buffer)));
    }
    const isLast = flat.length < 2 * tracesAtOnce;
    const found = [...seconds];
    // The last second may have more traces than came.
    const cut = isLast ? undefined : found.pop();
    for (const [second, traceIds] of found) yield { startMs: second * traceWindowMs, traceIds };
    if (!cut) return;
    bound = cut[0];
    if (found.length > 0) continue;
    const all = (await connection.callBuffers('ZRANGE', key, bound, bound, 'BYSCORE')) as readonly Buffer[];
    yield { startMs: bound * traceWindowMs, traceIds: new Set(all.map(toTraceId)) };
    bound -= 1;
  }
}

const toTraceId = (bytes: Buffer): string => uuidOf(bytes.toString('hex'));
