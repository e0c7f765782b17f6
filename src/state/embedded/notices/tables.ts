import {
  type ChannelRecord,
  deadMax,
  type MessageRecord,
  noticeIdsMax,
  type Window,
} from '../../rules/notice-queue.ts';
import type { DeadFilter, DeadMessage, Page, Paged, QueuedMessage } from '../../store.ts';
import { createListing, given } from '../listing.ts';
import { createRecordTable } from '../record-table.ts';
import { type Database, type Row, recordOf, rowToRecord } from '../sqlite.ts';

/** A row of `notice_messages`. */
export interface StoredMessage {
  readonly id: string;
  readonly dueAtMs: number;
  /** The time at which the message was given up; null while it waits. */
  readonly deadAtMs: number | null;
  readonly record: MessageRecord;
  readonly body: string;
}

/** Keeps the messages of the queue: those that wait, and those that were given up. */
export function createMessageTable(db: Database) {
  const ofChannel = 'FROM notice_messages WHERE channel = ? AND dead_at_ms IS';
  const byId = db.prepare('SELECT * FROM notice_messages WHERE id = ?');
  const insert = db.prepare(`
    INSERT INTO notice_messages (id, channel, owner, due_at_ms, record, body) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
  `);
  const update = db.prepare(
    'UPDATE notice_messages SET due_at_ms = ?, dead_at_ms = ?, record = ? WHERE id = ?',
  );
  const remove = db.prepare('DELETE FROM notice_messages WHERE id = ?');
  const isDue = 'NULL AND (due_at_ms <= ? OR due_at_ms > ?)';
  const due = db.prepare(`SELECT * ${ofChannel} ${isDue} ORDER BY due_at_ms, id LIMIT ?`);
  const anyDue = db.prepare(`SELECT 1 AS one ${ofChannel} ${isDue} LIMIT 1`);
  const waiting = db.prepare(`SELECT count(*) AS held ${ofChannel} NULL`);
  const dead = db.prepare(`SELECT count(*) AS held ${ofChannel} NOT NULL`);
  const trimDead = db.prepare(`
    DELETE FROM notice_messages WHERE id IN (
      SELECT id ${ofChannel} NOT NULL ORDER BY dead_at_ms DESC, id DESC LIMIT -1 OFFSET ${deadMax}
    )
  `);
  const listDead = createListing(db, {
    table: 'notice_messages',
    order: ['dead_at_ms', 'id'],
    columns: '*',
    toItem: (row) => toDead(toStored(row)),
  });

  function find(id: string): StoredMessage | undefined {
    const row = byId.get(id);
    return row && toStored(row);
  }

  return {
    find,
    /** Returns the message if it waits; undefined otherwise. */
    findWaiting(id: string): StoredMessage | undefined {
      const found = find(id);
      return found?.deadAtMs === null ? found : undefined;
    },
    /** Adds a message; returns false where there is one with this id. */
    add: (id: string, dueAtMs: number, record: MessageRecord, body: string): boolean =>
      insert.run(id, record.channel, record.owner, dueAtMs, JSON.stringify(record), body) > 0,
    save: (id: string, dueAtMs: number, record: MessageRecord) =>
      update.run(dueAtMs, null, JSON.stringify(record), id),
    /** Marks a message as dead. Each channel keeps its last `deadMax`. */
    bury(id: string, nowMs: number, record: MessageRecord): void {
      update.run(nowMs, nowMs, JSON.stringify(record), id);
      trimDead.run(record.channel);
    },
    remove: (id: string) => remove.run(id),
    /** Returns messages that were due at a time, and those that are due later than `latestMs`. */
    due: (channel: string, nowMs: number, latestMs: number, limit: number) =>
      due.all(channel, nowMs, latestMs, limit).map(toStored),
    hasDue: (channel: string, nowMs: number, latestMs: number): boolean =>
      anyDue.get(channel, nowMs, latestMs) !== undefined,
    countWaiting: (channel: string) => Number(waiting.get(channel)?.['held']),
    countDead: (channel: string) => Number(dead.get(channel)?.['held']),
    listDead({ owner, channel }: DeadFilter, page: Page): Paged<DeadMessage> {
      // A channel may have belonged to another tenant before.
      const isOwn = `channel IN (SELECT name FROM notice_channels WHERE ${ownerOfChannel} = ?)`;
      const asked = given(
        ['dead_at_ms > ?', 0],
        ['owner = ?', owner],
        [isOwn, owner],
        ['channel = ?', channel],
      );
      return listDead(asked, page);
    },
  };
}

const ownerOfChannel = "json_extract(notice_channels.record, '$.owner')";

const toStored = (row: Row): StoredMessage => ({
  id: String(row['id']),
  dueAtMs: Number(row['due_at_ms']),
  deadAtMs: row['dead_at_ms'] === null ? null : Number(row['dead_at_ms']),
  record: recordOf<MessageRecord>(row),
  body: String(row['body']),
});

export const toQueued = ({ id, body }: StoredMessage, record: MessageRecord): QueuedMessage => {
  const { isOpen: _, reason: __, ...message } = record;
  return { id, ...message, body };
};

export const toDead = (stored: StoredMessage): DeadMessage => ({
  ...toQueued(stored, stored.record),
  deadAtMs: stored.deadAtMs ?? 0,
  reason: stored.record.reason ?? '',
});

/** Keeps the health of each channel, by name. */
export function createChannelTable(db: Database) {
  const all = db.prepare('SELECT name, record FROM notice_channels ORDER BY name');
  return {
    ...createRecordTable<ChannelRecord>(db, 'notice_channels', ['name']),
    all: () => all.all().map((row) => [String(row['name']), recordOf<ChannelRecord>(row)] as const),
  };
}

/** Keeps the windows of digests, and the ids of notices that came lately. */
export function createPlacingTable(db: Database) {
  const window = db.prepare('SELECT record FROM notice_windows WHERE name = ?');
  const putWindow = db.prepare(`
    INSERT INTO notice_windows (name, ends_at_ms, record) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET ends_at_ms = excluded.ends_at_ms, record = excluded.record
  `);
  const dropWindows = db.prepare('DELETE FROM notice_windows WHERE ends_at_ms <= ?');
  const remember = db.prepare('INSERT INTO notice_ids (notice_id) VALUES (?) ON CONFLICT DO NOTHING');
  const forgetOldest = db.prepare(
    `DELETE FROM notice_ids WHERE place <= (SELECT max(place) FROM notice_ids) - ${noticeIdsMax}`,
  );
  return {
    window: (name: string) => rowToRecord<Window>(window.get(name)),
    saveWindow: (name: string, endsAtMs: number, it: Window) =>
      putWindow.run(name, endsAtMs, JSON.stringify(it)),
    dropWindows: (nowMs: number) => dropWindows.run(nowMs),
    /** Remembers a notice; returns false where it came before. */
    remember: (noticeId: string): boolean => remember.run(noticeId) > 0,
    forgetOldest: () => forgetOldest.run(),
  };
}
