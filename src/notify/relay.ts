import type { EventKind } from '../config/sections/notifications.ts';
import type { Log } from '../core/log.ts';
import type { AuditEntry, Store } from '../state/store.ts';
import { type AuditNoticeSources, auditKinds, noticeOfEntry } from './audit-notices.ts';
import type { Notice } from './notice.ts';

/*
 * Follows the audit log of each tenant. A change is in the log together with its entry, so nothing is told
 * that did not happen. The state keeps how far the log was read, so nothing that happened is forgotten. When
 * a node is killed, the next sweep of any node tells what it has left. Two nodes may read the same entries.
 * They tell them under the same ids, which the queue takes once.
 */

/**
 * Milliseconds for which people are told of an event. Older ones come up for new channels and after absences.
 */
const toldWithinMs = 86_400_000;
const entriesAtOnce = 200;
/** The name under which the state keeps what holds for all tenants. */
const everybody = '';

type RelayStore = AuditNoticeSources & Pick<Store, 'auditAfter' | 'toldUpTo' | 'noteTold' | 'listAudit'>;

interface RelayOptions {
  readonly store: RelayStore;
  /** Tells whether any channel may want notices of the kind and the tenant. */
  readonly wants: (kind: EventKind, tenantId: string) => boolean;
  /** Puts notices into the queue. Rejects where they are not in it. */
  readonly tell: (notices: readonly Notice[]) => Promise<void>;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
}

export class AuditRelay {
  readonly #options: RelayOptions;
  /** Tenants whose logs are to be read, each once, however often it was nudged. */
  readonly #nudged = new Set<string>();
  #running: Promise<void> | undefined;
  #isClosed = false;
  /** Time of the start, before anything can happen that is to be told. */
  readonly #openedMs;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#openedMs = options.now();
  }

  /** Reads the log of the tenant, since something has been written to it. */
  nudge(tenantId: string): void {
    if (this.#isClosed || !this.#wantsAny(tenantId)) return;
    this.#nudged.add(tenantId);
    if (this.#running === undefined) void this.#run();
  }

  /** Reads on in the logs of these tenants. Never rejects: what fails is tried again by the next sweep. */
  async sweep(tenantIds: readonly string[]): Promise<void> {
    for (const tenantId of tenantIds) if (this.#wantsAny(tenantId)) this.#nudged.add(tenantId);
    await this.#run();
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#nudged.clear();
    await this.#running;
  }

  #wantsAny(tenantId: string): boolean {
    return auditKinds.some((kind) => this.#options.wants(kind, tenantId));
  }

  /** Returns the time from which on notices are told. Nobody wants to hear of what was before. */
  async #beganMs(): Promise<number> {
    const began = await this.#options.store.toldUpTo(everybody, 'audit');
    if (began !== undefined) return began;
    await this.#options.store.noteTold(everybody, 'audit', this.#openedMs);
    return this.#openedMs;
  }

  /** Returns the number of the tenant's last entry that is too old to be told of; 0 where there is none. */
  async #lastBefore(tenantId: string, ms: number): Promise<number> {
    for (let cursor: string | undefined; ; ) {
      const { items, nextCursor } = await this.#options.store.listAudit(tenantId, {}, { limit: 500, cursor });
      const old = items.find((it) => it.atMs < ms);
      if (old) return old.seq;
      if (nextCursor === null) return 0;
      cursor = nextCursor;
    }
  }

  async #noticesOf(entries: readonly AuditEntry[]): Promise<Notice[]> {
    const notices: Notice[] = [];
    for (const entry of entries) {
      const isWanted = auditKinds.some(
        (kind) => kind === entry.kind && this.#options.wants(kind, entry.tenantId),
      );
      if (!isWanted || entry.atMs < this.#options.now() - toldWithinMs) continue;
      const notice = await noticeOfEntry(entry, this.#options.store);
      if (notice) notices.push(notice);
    }
    return notices;
  }

  async #readOn(tenantId: string): Promise<void> {
    let seq = await this.#options.store.toldUpTo(tenantId, 'audit');
    if (seq === undefined) {
      seq = await this.#lastBefore(tenantId, await this.#beganMs());
      await this.#options.store.noteTold(tenantId, 'audit', seq);
    }
    while (!this.#isClosed) {
      const entries = await this.#options.store.auditAfter(tenantId, seq, entriesAtOnce);
      const last = entries.at(-1);
      if (!last) return;
      await this.#options.tell(await this.#noticesOf(entries));
      seq = last.seq;
      await this.#options.store.noteTold(tenantId, 'audit', seq);
      if (entries.length < entriesAtOnce) return;
    }
  }

  async #attempt(tenantId: string): Promise<void> {
    try {
      await this.#readOn(tenantId);
    } catch (error) {
      this.#options.log.warn({ err: error, tenant_id: tenantId }, 'events of a tenant cannot be told yet');
    }
  }

  async #readNudged(): Promise<void> {
    for (const tenantId of this.#nudged) {
      this.#nudged.delete(tenantId);
      await this.#attempt(tenantId);
    }
  }

  /** Reads the nudged logs, one run at a time. */
  async #run(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    this.#running = this.#readNudged().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }
}
