import { randomFillSync, randomUUID } from 'node:crypto';
import { traceIdsFrom } from './trace-time.ts';

class TraceIds {
  readonly #pool = Buffer.allocUnsafe(4096);
  #used = this.#pool.length;
  /** Ids of the same millisecond share their beginning. */
  #timeMs = -1;
  #timeText = '';

  next(nowMs: number): string {
    if (nowMs !== this.#timeMs) {
      this.#timeMs = nowMs;
      this.#timeText = `${traceIdsFrom(nowMs)}-`;
    }
    const random = this.#random();
    return `${this.#timeText}${random.slice(0, 4)}-${random.slice(4, 8)}-${random.slice(8)}`;
  }

  /** Returns the random bits, with the version and the variant among them, in hexadecimal. */
  #random(): string {
    const pool = this.#pool;
    if (this.#used + 10 > pool.length) {
      randomFillSync(pool);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used += 10;
    pool[at] = 0x70 | ((pool[at] ?? 0) & 0x0f);
    pool[at + 2] = 0x80 | ((pool[at + 2] ?? 0) & 0x3f);
    return pool.toString('hex', at, at + 10);
  }
}

const traceIds = new TraceIds();

/**
 * Returns a UUID of version 7 (RFC 9562, 5.7): 48 bits of time, 74 random bits. Traces have such ids because
 * ids that grow with time are appended to an index. Random ids would change it in all places.
 */
export const newTraceId = (nowMs: number): string => traceIds.next(nowMs);

export const traceIdLength = 36;
const traceId = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Tells whether a text is a UUID of version 7, in lower case. */
export const isTraceId = (text: string): boolean => traceId.test(text);

/** Returns the time in a trace's id, in milliseconds; undefined where the text is no such id. */
export const timeOfTraceId = (text: string): number | undefined =>
  isTraceId(text) ? Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16) : undefined;

/** Returns a random UUID, for everything that is not a trace. */
export const newId = (): string => randomUUID();

/** Returns a UUID of version 8 (RFC 9562, 5.8) made of a SHA-256 in hex. It is the same on every node. */
export const derivedId = (digest: string): string =>
  uuidOf(`${digest.slice(0, 12)}8${digest.slice(13, 16)}a${digest.slice(17, 32)}`);

/** Writes 32 hexadecimal digits as a UUID. */
export const uuidOf = (hex: string): string =>
  hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns a UUID in lower case; undefined where the text is none. */
export function parseUuid(text: string): string | undefined {
  const lower = text.toLowerCase();
  return uuid.test(lower) ? lower : undefined;
}
