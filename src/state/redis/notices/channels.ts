import type { ChannelQueue } from '../../store.ts';
import type { RedisConnection } from '../link/connection.ts';
import type { NoticeNames } from '../link/names.ts';

type Fields = ReadonlyMap<string, string>;

/**
 * Returns the health of channels by name. One hash has it, with the fields `<field> <name of the channel>`.
 */
export async function readChannels(
  connection: RedisConnection,
  names: NoticeNames,
): Promise<ReadonlyMap<string, Fields>> {
  const flat = (await connection.call('HGETALL', names.channels)) as string[];
  const channels = new Map<string, Map<string, string>>();
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [field = '', name = ''] = (flat[at] ?? '').split(' ');
    const fields = channels.get(name) ?? new Map<string, string>();
    channels.set(name, fields.set(field, flat[at + 1] ?? ''));
  }
  return channels;
}

/** Returns the queues of all channels, ordered by name. */
export async function channelQueues(
  connection: RedisConnection,
  names: NoticeNames,
): Promise<ChannelQueue[]> {
  const known = [...(await readChannels(connection, names))].filter(([, fields]) => fields.has('owner'));
  const queues = known.map(async ([name, fields]) => {
    const [waiting, dead] = await Promise.all([
      connection.call('ZCARD', names.due(name)),
      connection.call('ZCARD', names.dead(name)),
    ]);
    return toQueue(name, fields, Number(waiting), Number(dead));
  });
  return (await Promise.all(queues)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function toQueue(name: string, fields: Fields, waiting: number, dead: number): ChannelQueue {
  const number = (field: string): number => Number(fields.get(field) ?? 0);
  const orNull = (field: string): number | null => (fields.has(field) ? number(field) : null);
  return {
    name,
    owner: fields.get('owner') || null,
    waiting,
    dead,
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
