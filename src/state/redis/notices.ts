import {
  claimNotedMs,
  deadMax,
  digestTracesMax,
  messageIdOf,
  noticeIdsMax,
  reasonLengthMax,
  windowNameOf,
  windowsKeptMs,
} from '../rules/notice-queue.ts';
import type {
  ChannelQueue,
  DeadMessage,
  NewNotice,
  NoticeQueue,
  Paged,
  QueuedMessage,
  Settlement,
} from '../store.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { idOfPlace, indexPlaceOf, parseCursor } from './link/pages.ts';
import { readMany } from './records.ts';
import { scripts } from './scripts/scripts.ts';

/*
 * The queue of notices, as `notice-queue.ts` describes it. All of it has one hash tag, which no tenant has: a message is claimed in one
 * step with the rate of its channel, and asking whether anything waits costs one script for all channels. Messages are hashes of JSON
 * beside their texts; a queue is a set of ids by when they are due.
 */

/** One script takes so many; Redis does nothing else meanwhile. */
const scriptNoticesMax = 100;
/** Messages given up that are looked at for a page, of one channel at a time. */
const chunkMax = 500;

/** A message as the scripts write it. */
interface Message {
  readonly c: string;
  readonly o: string;
  readonly i: string;
  readonly k: string;
  readonly e: string;
  readonly n: number;
  readonly f: number;
  readonly l: number;
  readonly t: string;
  readonly q: number;
  readonly a: number;
  readonly r?: string;
}

export function createRedisNotices(connection: RedisConnection, names: Names): NoticeQueue {
  const own = names.notices;

  async function enqueue(notices: readonly NewNotice[], nowMs: number): Promise<void> {
    const channels = [...new Set(notices.flatMap((it) => it.channels.map(({ name }) => name)))];
    const keys = [own.messages, own.texts, own.channels, own.windows, own.windowEnds, own.ids];
    const numberOf = new Map(channels.map((name, at) => [name, keys.length + at + 1]));
    const args = notices.flatMap((notice) => [
      ...[
        notice.noticeId,
        notice.kind,
        notice.tenantId ?? '',
        notice.atMs,
        notice.traceId ?? '',
        notice.body,
      ],
      notice.channels.length,
      ...notice.channels.flatMap((it) => [
        ...[numberOf.get(it.name) ?? 0, it.name, it.owner ?? '', it.digestMs, it.waitingMax],
        ...[messageIdOf(it.name, notice.noticeId), windowNameOf(it.name, notice)],
      ]),
    ]);
    const bounds = [nowMs, noticeIdsMax, digestTracesMax, windowsKeptMs];
    await connection.run(scripts.noticesEnqueue, [...keys, ...channels.map(own.due)], [...bounds, ...args]);
  }

  async function queueFields(): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
    const flat = (await connection.call('HGETALL', own.channels)) as string[];
    const channels = new Map<string, Map<string, string>>();
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const [field = '', name = ''] = (flat[at] ?? '').split(' ');
      const fields = channels.get(name) ?? new Map<string, string>();
      channels.set(name, fields.set(field, flat[at + 1] ?? ''));
    }
    return channels;
  }

  async function toQueue(name: string, fields: ReadonlyMap<string, string>): Promise<ChannelQueue> {
    const [waiting, dead] = await Promise.all([
      connection.call('ZCARD', own.due(name)),
      connection.call('ZCARD', own.dead(name)),
    ]);
    const number = (field: string): number => Number(fields.get(field) ?? 0);
    const orNull = (field: string): number | null => (fields.has(field) ? number(field) : null);
    return {
      name,
      owner: fields.get('owner') || null,
      waiting: Number(waiting),
      dead: Number(dead),
      delivered: number('delivered'),
      dropped: number('dropped'),
      failures: number('failures'),
      pausedUntilMs: number('paused'),
      lastDeliveredMs: orNull('ok'),
      lastFailedMs: orNull('failed'),
      lastError: fields.get('error') ?? null,
      claimedAtMs: orNull('claimed'),
    };
  }

  async function readDead(places: readonly Place[]): Promise<(DeadMessage | undefined)[]> {
    const ids = places.map(({ id }) => id);
    const [messages, texts] = await Promise.all([
      readMany(connection, own.messages, ids),
      readMany(connection, own.texts, ids),
    ]);
    return places.map(({ id, atMs }, at) => toDead(id, messages[at], texts[at], atMs));
  }

  /** Dead messages of one channel before the place, newest first. */
  async function deadBefore(channel: string, before: Place | undefined, count: number): Promise<Place[]> {
    const max = before === undefined ? '+inf' : before.atMs;
    const found: Place[] = [];
    for (let offset = 0; found.length < count; offset += chunkMax) {
      const range = [
        own.dead(channel),
        max,
        '-inf',
        'BYSCORE',
        'REV',
        'LIMIT',
        offset,
        chunkMax,
        'WITHSCORES',
      ];
      const flat = (await connection.call('ZRANGE', ...range)) as string[];
      for (let at = 0; at + 1 < flat.length; at += 2) {
        const place = { id: flat[at] ?? '', atMs: Number(flat[at + 1]) };
        if (before === undefined || isBefore(place, before)) found.push(place);
      }
      if (flat.length < 2 * chunkMax) break;
    }
    return found.slice(0, count);
  }

  return {
    async enqueueNotices(notices, nowMs) {
      for (let at = 0; at < notices.length; at += scriptNoticesMax)
        await enqueue(notices.slice(at, at + scriptNoticesMax), nowMs);
    },

    async claimMessages(claims, nowMs, leaseMs) {
      if (claims.length === 0) return [];
      const keys = [own.messages, own.texts, own.channels, own.windows, own.windowEnds];
      const args = claims.flatMap(({ name, owner, limit, intervalMs, burst, probingMin }) => [
        ...[name, owner ?? '', limit, intervalMs, burst, probingMin],
      ]);
      const flat = (await connection.run(
        scripts.noticesClaim,
        [...keys, ...claims.map(({ name }) => own.due(name))],
        [nowMs, leaseMs, claimNotedMs, ...args],
      )) as string[];
      const claimed: QueuedMessage[] = [];
      for (let at = 0; at + 2 < flat.length; at += 3)
        claimed.push(toQueued(flat[at] ?? '', JSON.parse(flat[at + 1] ?? ''), flat[at + 2] ?? ''));
      return claimed;
    },

    async settleMessage(settlement) {
      const { id, channel, attempts, nowMs, claimedAtMs, outcome } = settlement;
      const keys = [own.messages, own.texts, own.channels, own.due(channel), own.dead(channel)];
      const args = [id, attempts, channel, nowMs, claimedAtMs, outcome.kind, ...outcomeArgs(outcome)];
      return (await connection.run(scripts.noticesSettle, keys, args)) === 1;
    },

    async buryMessages({ channel, dueBeforeMs, nowMs, reason, limit, onlyIf }) {
      const keys = [own.messages, own.texts, own.channels, own.due(channel), own.dead(channel)];
      const since = onlyIf === 'failing' ? '' : onlyIf.unclaimedSinceMs;
      const args = [channel, nowMs, dueBeforeMs, reason.slice(0, reasonLengthMax), limit, deadMax, since];
      return Number(await connection.run(scripts.noticesGiveUp, keys, args));
    },

    async listDeadMessages({ owner, channel }, { limit, cursor }): Promise<Paged<DeadMessage>> {
      const text = parseCursor(cursor);
      const before =
        text === undefined ? undefined : { atMs: Number(text.slice(0, 15)), id: idOfPlace(text) };
      const known = [...(await queueFields())].filter(
        ([name, fields]) =>
          (channel === undefined || name === channel) &&
          (owner === undefined || fields.get('owner') === owner),
      );
      const places: Place[] = [];
      for (const [name] of known) places.push(...(await deadBefore(name, before, limit + 1)));
      places.sort((a, b) => (isBefore(a, b) ? 1 : -1));
      const shown = places.slice(0, limit);
      const last = places.length > limit ? shown.at(-1) : undefined;
      const messages = shown.length === 0 ? [] : await readDead(shown);
      return {
        // A channel may have been another tenant's before.
        items: messages
          .filter((it) => it !== undefined)
          .filter((it) => owner === undefined || it.owner === owner),
        nextCursor: last === undefined ? null : indexPlaceOf(last.atMs, last.id),
      };
    },

    async replayMessages(channel, ids, nowMs) {
      if (ids.length === 0) return 0;
      const keys = [own.messages, own.due(channel), own.dead(channel)];
      return Number(await connection.run(scripts.noticesReplay, keys, [nowMs, ...ids]));
    },

    async deadMessageById(id) {
      const text = await connection.call('HGET', own.messages, id);
      if (typeof text !== 'string') return undefined;
      const { c: channel } = JSON.parse(text) as Message;
      const atMs = await connection.call('ZSCORE', own.dead(channel), id);
      return atMs === null ? undefined : (await readDead([{ id, atMs: Number(atMs) }]))[0];
    },

    async channelQueues() {
      const channels = [...(await queueFields())].filter(([, fields]) => fields.has('owner'));
      const queues = await Promise.all(channels.map(([name, fields]) => toQueue(name, fields)));
      return queues.sort((a, b) => (a.name < b.name ? -1 : 1));
    },
  };
}

interface Place {
  readonly id: string;
  readonly atMs: number;
}

const isBefore = (a: Place, b: Place): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.id < b.id);

const toQueued = (id: string, it: Message, body: string): QueuedMessage => ({
  ...{ id, channel: it.c, owner: it.o || null, noticeId: it.i, kind: it.k, tenantId: it.e || null },
  ...{ count: it.n, firstMs: it.f, lastMs: it.l, traceIds: it.t === '' ? [] : it.t.split(' ') },
  ...{ queuedAtMs: it.q, attempts: it.a, body },
});

function toDead(
  id: string,
  message: string | null | undefined,
  body: string | null | undefined,
  deadAtMs: number,
): DeadMessage | undefined {
  if (typeof message !== 'string' || typeof body !== 'string') return undefined;
  const read = JSON.parse(message) as Message;
  return { ...toQueued(id, read, body), deadAtMs, reason: read.r ?? '' };
}

function outcomeArgs(outcome: Settlement['outcome']): readonly (string | number)[] {
  switch (outcome.kind) {
    case 'delivered':
    case 'released':
      return [];
    case 'dead':
      return [outcome.hasAnswered ? 1 : 0, outcome.reason.slice(0, reasonLengthMax), deadMax];
    case 'retry': {
      const { dueAtMs, reason, pausedUntilMs, pauseFrom, pauseMinMs, pauseMaxMs } = outcome;
      return [dueAtMs, reason.slice(0, reasonLengthMax), pausedUntilMs, pauseFrom, pauseMinMs, pauseMaxMs];
    }
  }
}
