import { Tally } from '../util/tally.ts';
import type { ConnectionOwner } from '../wire/server/connections.ts';

/** Milliseconds between two lines of the log about answers for which there was no room. */
const toldEveryMs = 1_000;

/**
 * Bounds the memory for answers that are being read. Each tenant has a share, and within it each agent. Neither
 * takes more than stays free for others.
 */
export class AnswerRoom {
  readonly #bytesMax: number;
  readonly #tenantBytesMax: number;
  readonly #agents = new Tally();
  readonly #tenants = new Tally();
  #kept = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(bytesMax: number, tenantBytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#tenantBytesMax = tenantBytesMax;
  }

  /** Tells whether so many more bytes may be kept. What was granted is given back with a negative number. */
  keep(owner: ConnectionOwner, bytes: number): boolean {
    if (bytes > 0 && !this.#hasRoom(owner, bytes)) return false;
    this.#kept += bytes;
    this.#agents.add(owner.agentId, bytes);
    this.#tenants.add(owner.tenantId, bytes);
    return true;
  }

  #hasRoom({ agentId, tenantId }: ConnectionOwner, more: number): boolean {
    const ofAgent = this.#agents.of(agentId) + more;
    const ofTenant = this.#tenants.of(tenantId) + more;
    const tenantMax = Math.min(this.#tenantBytesMax, this.#bytesMax - this.#kept - more);
    return ofTenant <= tenantMax && ofAgent <= this.#tenantBytesMax - ofTenant;
  }

  /** Tells whether the log shall have a line about an answer without room: at most one a second. */
  isDueToTell(nowMs: number): boolean {
    if (nowMs - this.#toldMs < toldEveryMs) return false;
    this.#toldMs = nowMs;
    return true;
  }
}
