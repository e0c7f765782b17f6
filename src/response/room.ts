/** Milliseconds between two lines of the log about answers for which there was no room. */
const toldEveryMs = 1_000;

/** Bounds the memory for answers that are being read, so that no tenant takes all of it from the others. */
export class AnswerRoom {
  readonly #bytesMax: number;
  readonly #tenantBytesMax: number;
  /** Bytes by tenant. Administrators make tenants, so there are not many. */
  readonly #keptBy = new Map<string, number>();
  #kept = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(bytesMax: number, tenantBytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#tenantBytesMax = tenantBytesMax;
  }

  /** Tells whether so many more bytes may be kept. What was granted is given back with a negative number. */
  keep(tenantId: string, bytes: number): boolean {
    const own = (this.#keptBy.get(tenantId) ?? 0) + bytes;
    if (bytes > 0 && (own > this.#tenantBytesMax || this.#kept + bytes > this.#bytesMax)) return false;
    this.#kept += bytes;
    this.#keptBy.set(tenantId, own);
    return true;
  }

  /** Tells whether the log shall have a line about an answer without room: at most one a second. */
  isDueToTell(nowMs: number): boolean {
    if (nowMs - this.#toldMs < toldEveryMs) return false;
    this.#toldMs = nowMs;
    return true;
  }
}
