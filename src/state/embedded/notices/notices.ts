import type { ChannelQueue, NoticeQueue } from '../../store.ts';
import type { Disk } from '../disk.ts';
import { Queue } from './queue.ts';
import { toDead } from './tables.ts';

/** The limit of notices in one write, which holds the event loop. */
const writtenAtOnce = 50;

export function createEmbeddedNotices({ db, commits }: Disk): NoticeQueue {
  const queue = new Queue(db);
  const { messages, channels } = queue;
  return {
    async enqueueNotices(notices, nowMs) {
      for (let at = 0; at < notices.length; at += writtenAtOnce) {
        const some = notices.slice(at, at + writtenAtOnce);
        await commits.write(() => queue.enqueue(some, nowMs));
      }
    },

    /** Claims messages. Begins no transaction where there is nothing to write. */
    async claimMessages(claims, nowMs, leaseMs) {
      const wanted = claims.filter((it) => queue.wantsClaim(it, nowMs));
      return wanted.length === 0 ? [] : commits.write(() => queue.claim(wanted, nowMs, leaseMs));
    },

    settleMessage: (settlement) => commits.write(() => queue.settle(settlement)),
    buryMessages: (burial) => commits.write(() => queue.giveUp(burial)),
    listDeadMessages: async (filter, page) => messages.listDead(filter, page),
    replayMessages: (channel, ids, nowMs) => commits.write(() => queue.replay(channel, ids, nowMs)),

    async deadMessageById(id) {
      const message = messages.find(id);
      return message && message.deadAtMs !== null ? toDead(message) : undefined;
    },

    channelQueues: async () =>
      channels.all().map(([name, { fullAtMs: _, ...record }]): ChannelQueue => {
        const [waiting, dead] = [messages.countWaiting(name), messages.countDead(name)];
        return { name, ...record, waiting, dead };
      }),
  };
}
