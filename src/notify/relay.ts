import type { EventKind } from '../config/sections/notifications.ts';
import type { Log } from '../core/log.ts';
import type { AuditEntry, Store } from '../state/store.ts';
import { type AuditNoticeSources, auditKinds, noticeOfEntry } from './audit-notices.ts';
import type { Notice } from './notice.ts';

/*
 * Follows the audit log of each tenant. A change is in the log together with its entry, so nothing is told that did
 * not happen. How far the log was read is kept in the state, so nothing that happened is forgotten. When a node is
 * killed, the next sweep of any node tells what it has left. What two nodes read at once they tell under the same
 * ids, which the queue takes once.
 */

/** Notices of things that happened longer ago are of use to nobody: their channels have been added, or the daemon was away. */
export const toldWithinMs = 86_400_000;
const entriesAtOnce = 200;
/** Whose places are those of all tenants. */
const everybody = '';

type RelayStore = AuditNoticeSources & Pick<Store, 'auditAfter' | 'toldUpTo' | 'noteTold' | 'listAudit'>;

interface RelayOptions {
  readonly store: RelayStore;
  /** Tells whether any channel may want notices of the kind and the tenant. */
  readonly wants: (kind: EventKind, tenantId: string) => boolean;
  /** Rejects where they are not in the queue. */
  readonly tell: (notices: readonly Notice[]) => Promise<void>;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
}

export interface AuditRelay {
  /** Something has been written to the log of the tenant. */
  nudge(tenantId: string): void;
  /** Reads on for all these; resolves when that is done, and never rejects: what fails is tried by the next one. */
  sweep(tenantIds: readonly string[]): Promise<void>;
  /** Resolves when nothing is under way any more. */
  close(): Promise<void>;
}

export function createAuditRelay({ store, wants, tell, now, log }: RelayOptions): AuditRelay {
  /** Whose logs are to be read: each tenant once, however often it was nudged. */
  const nudged = new Set<string>();
  let running: Promise<void> | undefined;
  let isClosed = false;
  /** Before anything can happen that is to be told. */
  const openedMs = now();

  const wantsAny = (tenantId: string): boolean => auditKinds.some((kind) => wants(kind, tenantId));

  /** When notices began to be told: nobody wants to hear of what was before. */
  async function beganMs(): Promise<number> {
    const began = await store.toldUpTo(everybody, 'audit');
    if (began !== undefined) return began;
    await store.noteTold(everybody, 'audit', openedMs);
    return openedMs;
  }

  /** The last entry of the tenant that is too old to be told of. */
  async function lastBefore(tenantId: string, ms: number): Promise<number> {
    for (let cursor: string | undefined; ; ) {
      const { items, nextCursor } = await store.listAudit(tenantId, {}, { limit: 500, cursor });
      const old = items.find((it) => it.atMs < ms);
      if (old) return old.seq;
      if (nextCursor === null) return 0;
      cursor = nextCursor;
    }
  }

  async function noticesOf(entries: readonly AuditEntry[]): Promise<Notice[]> {
    const notices: Notice[] = [];
    for (const entry of entries) {
      const isWanted = auditKinds.some((kind) => kind === entry.kind && wants(kind, entry.tenantId));
      if (!isWanted || entry.atMs < now() - toldWithinMs) continue;
      const notice = await noticeOfEntry(entry, store);
      if (notice) notices.push(notice);
    }
    return notices;
  }

  async function readOn(tenantId: string): Promise<void> {
    let seq = await store.toldUpTo(tenantId, 'audit');
    if (seq === undefined) {
      seq = await lastBefore(tenantId, await beganMs());
      await store.noteTold(tenantId, 'audit', seq);
    }
    while (!isClosed) {
      const entries = await store.auditAfter(tenantId, seq, entriesAtOnce);
      const last = entries.at(-1);
      if (!last) return;
      await tell(await noticesOf(entries));
      seq = last.seq;
      await store.noteTold(tenantId, 'audit', seq);
      if (entries.length < entriesAtOnce) return;
    }
  }

  async function attempt(tenantId: string, read: (tenantId: string) => Promise<void>): Promise<void> {
    try {
      await read(tenantId);
    } catch (error) {
      log.warn({ err: error, tenant_id: tenantId }, 'events of a tenant cannot be told yet');
    }
  }

  async function readNudged(): Promise<void> {
    for (const tenantId of nudged) {
      nudged.delete(tenantId);
      await attempt(tenantId, readOn);
    }
  }

  /** One at a time. */
  async function run(): Promise<void> {
    while (running !== undefined) await running;
    running = readNudged().finally(() => {
      running = undefined;
    });
    await running;
  }

  return {
    nudge(tenantId) {
      if (isClosed || !wantsAny(tenantId)) return;
      nudged.add(tenantId);
      if (running === undefined) void run();
    },
    async sweep(tenantIds) {
      for (const tenantId of tenantIds) if (wantsAny(tenantId)) nudged.add(tenantId);
      await run();
    },
    async close() {
      isClosed = true;
      nudged.clear();
      await running;
    },
  };
}
