import type { ChannelQueue } from '../../store.ts';
import type { RedisConnection } from '../link/connection.ts';
import type { NoticeNames } from '../link/names.ts';

type Fields = ReadonlyMap<string, string>;

/** The health of channels: one hash with the fields `<field> <name of the channel>`. */
export class Channels {
  readonly #connection: RedisConnection;
  readonly #names: NoticeNames;

  constructor(connection: RedisConnection, names: NoticeNames) {
    this.#connection = connection;
    this.#names = names;
  }

  /** The fields of each channel, by its name. */
  async read(): Promise<ReadonlyMap<string, Fields>> {
    const flat = (await this.#connection.call('HGETALL', this.#names.channels)) as string[];
    const channels = new Map<string, Map<string, string>>();
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const [field = '', name = ''] = (flat[at] ?? '').split(' ');
      const fields = channels.get(name) ?? new Map<string, string>();
      channels.set(name, fields.set(field, flat[at + 1] ?? ''));
    }
    return channels;
  }

  /** By name. */
  async queues(): Promise<ChannelQueue[]> {
    const known = [...(await this.read())].filter(([, fields]) => fields.has('owner'));
    const queues = await Promise.all(known.map(([name, fields]) => this.#queueOf(name, fields)));
    return queues.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #queueOf(name: string, fields: Fields): Promise<ChannelQueue> {
    const [waiting, dead] = await Promise.all([
      this.#connection.call('ZCARD', this.#names.due(name)),
      this.#connection.call('ZCARD', this.#names.dead(name)),
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
}
