import {
  afterClaim,
  afterOutcome,
  type ChannelRecord,
  claimable,
  claimNotedMs,
  deadMax,
  messageIdOf,
  newChannel,
  noticeIdsMax,
  placeNotice,
  reasonLengthMax,
  type Window,
  windowNameOf,
  windowsKeptMs,
  withNotice,
} from '../rules/notice-queue.ts';
import type {
  ChannelClaim,
  ChannelQueue,
  ClaimedMessage,
  DeadMessage,
  NewNotice,
  NoticeQueue,
  NoticeTarget,
  QueuedMessage,
} from '../store.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Condition, createListing } from './listing.ts';
import { type Database, type Row, recordOf, rowToRecord } from './sqlite.ts';

/** A message beside its text. */
type Message = Omit<QueuedMessage, 'body' | 'id'> & {
  /** Nobody has claimed it yet, so that it takes in what comes. */
  readonly isOpen: boolean;
  readonly reason?: string;
};

/** One write holds the event loop no longer than so many notices take. */
const writtenAtOnce = 50;

export function createEmbeddedNotices(db: Database, commits: GroupCommit): NoticeQueue {
  const rowById = db.prepare('SELECT * FROM notice_messages WHERE id = ?');
  const insert = db.prepare(`
    INSERT INTO notice_messages (id, channel, owner, due_at_ms, record, body) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
  `);
  const update = db.prepare(
    'UPDATE notice_messages SET due_at_ms = ?, dead_at_ms = ?, record = ? WHERE id = ?',
  );
  const remove = db.prepare('DELETE FROM notice_messages WHERE id = ?');
  const due = db.prepare(`
    SELECT * FROM notice_messages WHERE channel = ? AND dead_at_ms IS NULL AND due_at_ms <= ?
    ORDER BY due_at_ms, id LIMIT ?
  `);
  const isDue = db.prepare(
    'SELECT 1 AS one FROM notice_messages WHERE channel = ? AND dead_at_ms IS NULL AND due_at_ms <= ? LIMIT 1',
  );
  const waiting = db.prepare(
    'SELECT count(*) AS held FROM notice_messages WHERE channel = ? AND dead_at_ms IS NULL',
  );
  const dead = db.prepare(
    'SELECT count(*) AS held FROM notice_messages WHERE channel = ? AND dead_at_ms IS NOT NULL',
  );
  const trimDead = db.prepare(`
    DELETE FROM notice_messages WHERE id IN (
      SELECT id FROM notice_messages WHERE channel = ? AND dead_at_ms IS NOT NULL
      ORDER BY dead_at_ms DESC, id DESC LIMIT -1 OFFSET ${deadMax}
    )
  `);
  const channel = db.prepare('SELECT record FROM notice_channels WHERE name = ?');
  const allChannels = db.prepare('SELECT name, record FROM notice_channels ORDER BY name');
  const putChannel = db.prepare(`
    INSERT INTO notice_channels (name, record) VALUES (?, ?) ON CONFLICT DO UPDATE SET record = excluded.record
  `);
  const dropChannel = db.prepare('DELETE FROM notice_channels WHERE name = ?');
  const window = db.prepare('SELECT record FROM notice_windows WHERE name = ?');
  const putWindow = db.prepare(`
    INSERT INTO notice_windows (name, ends_at_ms, record) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET ends_at_ms = excluded.ends_at_ms, record = excluded.record
  `);
  const dropWindows = db.prepare('DELETE FROM notice_windows WHERE ends_at_ms < ?');
  const remember = db.prepare('INSERT INTO notice_ids (notice_id) VALUES (?) ON CONFLICT DO NOTHING');
  const forgetIds = db.prepare(
    `DELETE FROM notice_ids WHERE place <= (SELECT max(place) FROM notice_ids) - ${noticeIdsMax}`,
  );
  const listDead = createListing(db, {
    table: 'notice_messages',
    order: ['dead_at_ms', 'id'],
    toItem: toDead,
  });

  const channelOf = (name: string, owner: string | null): ChannelRecord => ({
    ...(rowToRecord<ChannelRecord>(channel.get(name)) ?? newChannel(owner)),
    owner,
  });
  const countWaiting = (name: string): number => Number(waiting.get(name)?.['held']);
  const saveChannel = (name: string, record: ChannelRecord): void =>
    void putChannel.run(name, JSON.stringify(record));

  function enqueue(notice: NewNotice, nowMs: number, held: Map<string, number>): void {
    if (remember.run(notice.noticeId) === 0) return;
    for (const target of notice.channels) place(notice, target, nowMs, held);
  }

  function place(notice: NewNotice, target: NoticeTarget, nowMs: number, held: Map<string, number>): void {
    const { name, owner } = target;
    const windowName = windowNameOf(name, notice);
    const standing = rowToRecord<Window>(window.get(windowName));
    const row = standing && rowById.get(standing.id);
    const last = row && row['dead_at_ms'] === null ? recordOf<Message>(row) : undefined;
    const inQueue = held.get(name) ?? countWaiting(name);
    const placing = placeNotice(
      { window: standing, isOpen: last?.isOpen ?? false, waiting: inQueue },
      target,
      nowMs,
    );
    if (!channel.get(name)) saveChannel(name, channelOf(name, owner));
    if (placing.kind === 'joined' && row && last) {
      update.run(Number(row['due_at_ms']), null, JSON.stringify(withNotice(last, notice)), String(row['id']));
    } else if (placing.kind === 'new') {
      const id = messageIdOf(name, notice.noticeId);
      const message = JSON.stringify(toMessage(notice, target, nowMs));
      insert.run(id, name, owner, placing.dueAtMs, message, notice.body);
      const { endMs } = placing.window;
      putWindow.run(windowName, endMs + windowsKeptMs, JSON.stringify({ ...placing.window, id }));
      held.set(name, inQueue + 1);
    } else {
      const record = channelOf(name, owner);
      saveChannel(name, { ...record, dropped: record.dropped + 1 });
    }
  }

  function claim(asked: ChannelClaim, nowMs: number, leaseMs: number): ClaimedMessage[] {
    const record = channelOf(asked.name, asked.owner);
    const rows = due.all(asked.name, nowMs, claimable(record, asked, nowMs));
    const isNoted = record.claimedAtMs !== null && nowMs - record.claimedAtMs < claimNotedMs;
    if (rows.length === 0 && isNoted) return [];
    const after = rows.length === 0 ? record : afterClaim(record, asked, rows.length, nowMs, leaseMs);
    saveChannel(asked.name, { ...after, claimedAtMs: isNoted ? record.claimedAtMs : nowMs });
    return rows.map((row) => {
      const message = recordOf<Message>(row);
      const claimed = { ...message, attempts: message.attempts + 1, isOpen: false };
      update.run(nowMs + leaseMs, null, JSON.stringify(claimed), String(row['id']));
      return toQueued(row, claimed);
    });
  }

  /** Nothing is written, and no transaction begun, where there is nothing to do. */
  const wantsClaim = ({ name, owner }: ChannelClaim, nowMs: number): boolean => {
    const { claimedAtMs } = channelOf(name, owner);
    return (
      claimedAtMs === null || nowMs - claimedAtMs >= claimNotedMs || isDue.get(name, nowMs) !== undefined
    );
  };

  function bury(row: Row, message: Message, nowMs: number, reason: string): void {
    const record = { ...message, isOpen: false, reason: reason.slice(0, reasonLengthMax) };
    update.run(nowMs, nowMs, JSON.stringify(record), String(row['id']));
    trimDead.run(message.channel);
  }

  return {
    async enqueueNotices(notices, nowMs) {
      for (let at = 0; at < notices.length; at += writtenAtOnce) {
        const some = notices.slice(at, at + writtenAtOnce);
        await commits.write(() => {
          const held = new Map<string, number>();
          for (const notice of some) enqueue(notice, nowMs, held);
          forgetIds.run();
        });
      }
    },

    async claimMessages(claims, nowMs, leaseMs) {
      const wanted = claims.filter((it) => wantsClaim(it, nowMs));
      if (wanted.length === 0) return [];
      return commits.write(() => {
        dropWindows.run(nowMs);
        return wanted.flatMap((it) => claim(it, nowMs, leaseMs));
      });
    },

    settleMessage: (settlement) =>
      commits.write(() => {
        const { id, attempts, outcome, nowMs } = settlement;
        const row = rowById.get(id);
        const message = row && row['dead_at_ms'] === null ? recordOf<Message>(row) : undefined;
        if (!row || !message || message.isOpen || message.attempts !== attempts) return false;
        const record = channelOf(message.channel, message.owner);
        saveChannel(message.channel, afterOutcome(record, settlement));
        if (outcome.kind === 'delivered') remove.run(id);
        else if (outcome.kind === 'dead') bury(row, message, nowMs, outcome.reason);
        else if (outcome.kind === 'retry') update.run(outcome.dueAtMs, null, JSON.stringify(message), id);
        else update.run(nowMs, null, JSON.stringify({ ...message, attempts: attempts - 1 }), id);
        return true;
      }),

    buryMessages: ({ channel: name, dueBeforeMs, nowMs, reason, limit, onlyIf }) =>
      commits.write(() => {
        const record = rowToRecord<ChannelRecord>(channel.get(name));
        if (!record) return 0;
        const isGone = onlyIf !== 'failing';
        if (isGone ? (record.claimedAtMs ?? 0) > onlyIf.unclaimedSinceMs : record.failures === 0) return 0;
        const rows = due.all(name, dueBeforeMs, limit);
        for (const row of rows) bury(row, recordOf<Message>(row), nowMs, reason);
        if (isGone && countWaiting(name) === 0 && Number(dead.get(name)?.['held']) === 0)
          dropChannel.run(name);
        return rows.length;
      }),

    async listDeadMessages({ owner, channel: name }, page) {
      const conditions: Condition[] = [['dead_at_ms > ?', 0]];
      if (owner !== undefined) conditions.push(['owner = ?', owner]);
      if (name !== undefined) conditions.push(['channel = ?', name]);
      return listDead(conditions, page);
    },

    replayMessages: (name, ids, nowMs) =>
      commits.write(() => {
        let replayed = 0;
        for (const id of ids) {
          const row = rowById.get(id);
          if (!row || row['dead_at_ms'] === null || row['channel'] !== name) continue;
          const { reason: _, ...message } = recordOf<Message>(row);
          const anew = { ...message, attempts: 0, queuedAtMs: nowMs };
          update.run(nowMs, null, JSON.stringify(anew), id);
          replayed += 1;
        }
        return replayed;
      }),

    async deadMessageById(id) {
      const row = rowById.get(id);
      return row && row['dead_at_ms'] !== null ? toDead(row) : undefined;
    },

    async channelQueues() {
      return allChannels.all().map((row): ChannelQueue => {
        const name = String(row['name']);
        const { fullAtMs: _, ...record } = recordOf<ChannelRecord>(row);
        return { name, ...record, waiting: countWaiting(name), dead: Number(dead.get(name)?.['held']) };
      });
    },
  };
}

const toMessage = (
  { noticeId, kind, tenantId, atMs, traceId }: NewNotice,
  { name, owner }: NoticeTarget,
  nowMs: number,
): Message => ({
  ...{ channel: name, owner, noticeId, kind, tenantId },
  ...{ count: 1, firstMs: atMs, lastMs: atMs, traceIds: traceId === null ? [] : [traceId] },
  ...{ queuedAtMs: nowMs, attempts: 0, isOpen: true },
});

function toQueued(row: Row, { isOpen: _, reason: __, ...message }: Message): QueuedMessage {
  return { id: String(row['id']), ...message, body: String(row['body']) };
}

function toDead(row: Row): DeadMessage {
  const message = recordOf<Message>(row);
  return { ...toQueued(row, message), deadAtMs: Number(row['dead_at_ms']), reason: message.reason ?? '' };
}
