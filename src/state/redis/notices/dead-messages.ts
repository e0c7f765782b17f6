import { cutPage } from '../../rules/cursor.ts';
import type { DeadFilter, DeadMessage, Page, Paged, QueuedMessage } from '../../store.ts';
import type { RedisConnection } from '../link/connection.ts';
import type { NoticeNames } from '../link/names.ts';
import { idOfPlace, indexPlaceOf, parseCursor } from '../link/pages.ts';
import { readMany, readRecord } from '../records.ts';
import { readChannels } from './channels.ts';

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

export function parseQueued(id: string, text: string, body: string): QueuedMessage {
  const it = JSON.parse(text) as Message;
  return {
    ...{ id, channel: it.c, owner: it.o || null, noticeId: it.i, kind: it.k, tenantId: it.e || null },
    ...{ count: it.n, firstMs: it.f, lastMs: it.l, traceIds: it.t === '' ? [] : it.t.split(' ') },
    ...{ queuedAtMs: it.q, attempts: it.a, body },
  };
}

const toDead = (place: Place, text: string, body: string): DeadMessage => ({
  ...parseQueued(place.id, text, body),
  deadAtMs: place.atMs,
  reason: (JSON.parse(text) as Message).r ?? '',
});

interface Place {
  readonly id: string;
  readonly atMs: number;
}

const isBefore = (a: Place, b: Place): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.id < b.id);

/** The number of messages that are read at a time, of one channel. */
const chunkMax = 500;

/** Returns a message that was given up; undefined where none has that id. */
export async function findDead(
  connection: RedisConnection,
  names: NoticeNames,
  id: string,
): Promise<DeadMessage | undefined> {
  const message = await readRecord<Message>(connection, names.messages, id);
  if (!message) return undefined;
  const atMs = await connection.call('ZSCORE', names.dead(message.c), id);
  return atMs === null ? undefined : (await read(connection, names, [{ id, atMs: Number(atMs) }]))[0];
}

/** Lists messages that were given up, newest first. */
export async function listDead(
  connection: RedisConnection,
  names: NoticeNames,
  { owner, channel }: DeadFilter,
  { limit, cursor }: Page,
): Promise<Paged<DeadMessage>> {
  const text = parseCursor(cursor);
  const before = text === undefined ? undefined : { atMs: Number(text.slice(0, 15)), id: idOfPlace(text) };
  const places: Place[] = [];
  for (const [name, fields] of await readChannels(connection, names)) {
    if (channel !== undefined && name !== channel) continue;
    if (owner !== undefined && fields.get('owner') !== owner) continue;
    places.push(...(await placesBefore(connection, names.dead(name), before, limit + 1)));
  }
  places.sort((a, b) => (isBefore(a, b) ? 1 : -1));
  const page = cutPage(places, limit, ({ atMs, id }) => indexPlaceOf(atMs, id));
  const messages = await read(connection, names, page.items);
  return {
    // A channel may have belonged to another tenant before.
    items: messages.filter((it) => owner === undefined || it.owner === owner),
    nextCursor: page.nextCursor,
  };
}

async function read(
  connection: RedisConnection,
  names: NoticeNames,
  places: readonly Place[],
): Promise<DeadMessage[]> {
  const ids = places.map(({ id }) => id);
  const [texts, bodies] = await Promise.all([
    readMany(connection, names.messages, ids),
    readMany(connection, names.texts, ids),
  ]);
  return places.flatMap((place, at) => {
    const [text, body] = [texts[at], bodies[at]];
    return typeof text === 'string' && typeof body === 'string' ? [toDead(place, text, body)] : [];
  });
}

/** Returns at most `count` places of one channel that come after `before` in the list, newest first. */
async function placesBefore(
  connection: RedisConnection,
  key: string,
  before: Place | undefined,
  count: number,
): Promise<Place[]> {
  const max = before === undefined ? '+inf' : before.atMs;
  const found: Place[] = [];
  for (let offset = 0; found.length < count; offset += chunkMax) {
    const range = [key, max, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, chunkMax];
    const flat = (await connection.call('ZRANGE', ...range, 'WITHSCORES')) as string[];
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const place = { id: flat[at] ?? '', atMs: Number(flat[at + 1]) };
      if (before === undefined || isBefore(place, before)) found.push(place);
    }
    if (flat.length < 2 * chunkMax) break;
  }
  return found.slice(0, count);
}
