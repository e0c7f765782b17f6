import {
  type ChannelRecord,
  deadMax,
  type MessageRecord,
  noticeIdsMax,
  type Window,
} from '../../rules/notice-queue.ts';
import type { DeadFilter, DeadMessage, Page, Paged, QueuedMessage } from '../../store.ts';
import { type Condition, createListing } from '../listing.ts';
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
export class MessageTable {
  readonly #byId;
  readonly #insert;
  readonly #update;
  readonly #remove;
  readonly #due;
  readonly #anyDue;
  readonly #waiting;
  readonly #dead;
  readonly #trimDead;
  readonly #listDead;

  constructor(db: Database) {
    const ofChannel = 'FROM notice_messages WHERE channel = ? AND dead_at_ms IS';
    this.#byId = db.prepare('SELECT * FROM notice_messages WHERE id = ?');
    this.#insert = db.prepare(`
      INSERT INTO notice_messages (id, channel, owner, due_at_ms, record, body) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING
    `);
    this.#update = db.prepare(
      'UPDATE notice_messages SET due_at_ms = ?, dead_at_ms = ?, record = ? WHERE id = ?',
    );
    this.#remove = db.prepare('DELETE FROM notice_messages WHERE id = ?');
    this.#due = db.prepare(`SELECT * ${ofChannel} NULL AND due_at_ms <= ? ORDER BY due_at_ms, id LIMIT ?`);
    this.#anyDue = db.prepare(`SELECT 1 AS one ${ofChannel} NULL AND due_at_ms <= ? LIMIT 1`);
    this.#waiting = db.prepare(`SELECT count(*) AS held ${ofChannel} NULL`);
    this.#dead = db.prepare(`SELECT count(*) AS held ${ofChannel} NOT NULL`);
    this.#trimDead = db.prepare(`
      DELETE FROM notice_messages WHERE id IN (
        SELECT id ${ofChannel} NOT NULL ORDER BY dead_at_ms DESC, id DESC LIMIT -1 OFFSET ${deadMax}
      )
    `);
    this.#listDead = createListing(db, {
      table: 'notice_messages',
      order: ['dead_at_ms', 'id'],
      columns: '*',
      toItem: (row) => toDead(toStored(row)),
    });
  }

  find(id: string): StoredMessage | undefined {
    const row = this.#byId.get(id);
    return row && toStored(row);
  }

  /** Returns the message if it waits; undefined otherwise. */
  findWaiting(id: string): StoredMessage | undefined {
    const found = this.find(id);
    return found?.deadAtMs === null ? found : undefined;
  }

  /** Adds a message; returns false where there is one with this id. */
  add(id: string, dueAtMs: number, record: MessageRecord, body: string): boolean {
    const { channel, owner } = record;
    return this.#insert.run(id, channel, owner, dueAtMs, JSON.stringify(record), body) > 0;
  }

  save(id: string, dueAtMs: number, record: MessageRecord): void {
    this.#update.run(dueAtMs, null, JSON.stringify(record), id);
  }

  /** Marks a message as dead. Each channel keeps its last `deadMax`. */
  bury(id: string, nowMs: number, record: MessageRecord): void {
    this.#update.run(nowMs, nowMs, JSON.stringify(record), id);
    this.#trimDead.run(record.channel);
  }

  remove(id: string): void {
    this.#remove.run(id);
  }

  due(channel: string, nowMs: number, limit: number): StoredMessage[] {
    return this.#due.all(channel, nowMs, limit).map(toStored);
  }

  hasDue(channel: string, nowMs: number): boolean {
    return this.#anyDue.get(channel, nowMs) !== undefined;
  }

  countWaiting(channel: string): number {
    return Number(this.#waiting.get(channel)?.['held']);
  }

  countDead(channel: string): number {
    return Number(this.#dead.get(channel)?.['held']);
  }

  listDead({ owner, channel }: DeadFilter, page: Page): Paged<DeadMessage> {
    const conditions: Condition[] = [['dead_at_ms > ?', 0]];
    if (owner !== undefined) {
      // A channel may have belonged to another tenant before.
      conditions.push(['owner = ?', owner]);
      conditions.push([`channel IN (SELECT name FROM notice_channels WHERE ${ownerOfChannel} = ?)`, owner]);
    }
    if (channel !== undefined) conditions.push(['channel = ?', channel]);
    return this.#listDead(conditions, page);
  }
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
export class ChannelTable {
  readonly #find;
  readonly #all;
  readonly #put;
  readonly #drop;

  constructor(db: Database) {
    this.#find = db.prepare('SELECT record FROM notice_channels WHERE name = ?');
    this.#all = db.prepare('SELECT name, record FROM notice_channels ORDER BY name');
    this.#put = db.prepare(`
      INSERT INTO notice_channels (name, record) VALUES (?, ?) ON CONFLICT DO UPDATE SET record = excluded.record
    `);
    this.#drop = db.prepare('DELETE FROM notice_channels WHERE name = ?');
  }

  find(name: string): ChannelRecord | undefined {
    return rowToRecord<ChannelRecord>(this.#find.get(name));
  }

  all(): (readonly [name: string, record: ChannelRecord])[] {
    return this.#all.all().map((row) => [String(row['name']), recordOf<ChannelRecord>(row)]);
  }

  save(name: string, record: ChannelRecord): void {
    this.#put.run(name, JSON.stringify(record));
  }

  drop(name: string): void {
    this.#drop.run(name);
  }
}

/** Keeps the windows of digests, and the ids of notices that came lately. */
export class PlacingTable {
  readonly #window;
  readonly #putWindow;
  readonly #dropWindows;
  readonly #remember;
  readonly #forget;

  constructor(db: Database) {
    this.#window = db.prepare('SELECT record FROM notice_windows WHERE name = ?');
    this.#putWindow = db.prepare(`
      INSERT INTO notice_windows (name, ends_at_ms, record) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET ends_at_ms = excluded.ends_at_ms, record = excluded.record
    `);
    this.#dropWindows = db.prepare('DELETE FROM notice_windows WHERE ends_at_ms <= ?');
    this.#remember = db.prepare('INSERT INTO notice_ids (notice_id) VALUES (?) ON CONFLICT DO NOTHING');
    this.#forget = db.prepare(
      `DELETE FROM notice_ids WHERE place <= (SELECT max(place) FROM notice_ids) - ${noticeIdsMax}`,
    );
  }

  window(name: string): Window | undefined {
    return rowToRecord<Window>(this.#window.get(name));
  }

  saveWindow(name: string, endsAtMs: number, window: Window): void {
    this.#putWindow.run(name, endsAtMs, JSON.stringify(window));
  }

  dropWindows(nowMs: number): void {
    this.#dropWindows.run(nowMs);
  }

  /** Remembers a notice; returns false where it came before. */
  remember(noticeId: string): boolean {
    return this.#remember.run(noticeId) > 0;
  }

  forgetOldest(): void {
    this.#forget.run();
  }
}
