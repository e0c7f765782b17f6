import { clockSkewMs } from '../../rules/clock-skew.ts';
import {
  claimNotedMs,
  deadMax,
  digestTracesMax,
  messageIdOf,
  noticeIdsMax,
  reasonLengthMax,
  windowNameOf,
  windowsKeptMs,
} from '../../rules/notice-queue.ts';
import type { NewNotice, NoticeQueue, QueuedMessage, Settlement } from '../../store.ts';
import type { Link } from '../link/link.ts';
import { scripts } from '../scripts/scripts.ts';
import { channelQueues } from './channels.ts';
import { findDead, listDead, parseQueued } from './dead-messages.ts';

/*
 * Keeps the queue of notices, as `notice-queue.ts` describes it. All of its keys have one hash tag, which no
 * tenant has. So one step claims a message and takes from the rate of its channel, and one script claims for
 * all channels. A hash has the messages as JSON, another one their texts. A queue is a set of ids by the time
 * at which they are due.
 */

/** The limit of notices in one script; Redis does nothing else meanwhile. */
const scriptNoticesMax = 100;

export function createRedisNotices({ connection, names: { notices: own } }: Link): NoticeQueue {
  const shared = [own.messages, own.texts, own.channels];
  const keysOf = (channel: string) => [...shared, own.due(channel), own.dead(channel)];

  return {
    async enqueueNotices(notices, nowMs) {
      for (let at = 0; at < notices.length; at += scriptNoticesMax) {
        const some = notices.slice(at, at + scriptNoticesMax);
        const to = [...new Set(some.flatMap((it) => it.channels.map(({ name }) => name)))];
        const keys = [...shared, own.windows, own.windowEnds, own.ids];
        const bounds = [nowMs, noticeIdsMax, digestTracesMax, windowsKeptMs, clockSkewMs];
        const args = some.flatMap((it) => noticeArgs(it, (name) => keys.length + to.indexOf(name) + 1));
        await connection.run(scripts.noticesEnqueue, [...keys, ...to.map(own.due)], [...bounds, ...args]);
      }
    },

    async claimMessages(claims, nowMs, leaseMs) {
      if (claims.length === 0) return [];
      const keys = [...shared, own.windows, own.windowEnds, ...claims.map(({ name }) => own.due(name))];
      const args = claims.flatMap(({ name, owner, limit, intervalMs, burst, probingMin, aheadMsMax }) => [
        ...[name, owner ?? '', limit, intervalMs, burst, probingMin, aheadMsMax],
      ]);
      const bounds = [nowMs, leaseMs, claimNotedMs];
      const flat = (await connection.run(scripts.noticesClaim, keys, [...bounds, ...args])) as string[];
      const claimed: QueuedMessage[] = [];
      for (let at = 0; at + 2 < flat.length; at += 3)
        claimed.push(parseQueued(flat[at] ?? '', flat[at + 1] ?? '', flat[at + 2] ?? ''));
      return claimed;
    },

    async settleMessage({ id, channel, attempts, nowMs, claimedAtMs, outcome }) {
      const args = [id, attempts, channel, nowMs, claimedAtMs, outcome.kind, ...outcomeArgs(outcome)];
      return (await connection.run(scripts.noticesSettle, keysOf(channel), args)) === 1;
    },

    async buryMessages({ channel, dueBeforeMs, nowMs, reason, limit, onlyIf }) {
      const since = onlyIf === 'failing' ? '' : onlyIf.unclaimedSinceMs;
      const args = [channel, nowMs, dueBeforeMs, reason.slice(0, reasonLengthMax), limit, deadMax, since];
      return Number(await connection.run(scripts.noticesGiveUp, keysOf(channel), args));
    },

    async replayMessages(channel, ids, nowMs) {
      if (ids.length === 0) return 0;
      const keys = [own.messages, own.due(channel), own.dead(channel)];
      return Number(await connection.run(scripts.noticesReplay, keys, [nowMs, ...ids]));
    },

    listDeadMessages: (filter, page) => listDead(connection, own, filter, page),
    deadMessageById: (id) => findDead(connection, own, id),
    channelQueues: () => channelQueues(connection, own),
  };
}

/**
 * Returns a notice as arguments of the script. `queueOf` returns the number of a channel's queue among the
 * keys.
 */
const noticeArgs = (notice: NewNotice, queueOf: (channel: string) => number): (string | number)[] => [
  ...[notice.noticeId, notice.kind, notice.tenantId ?? '', notice.atMs, notice.traceId ?? '', notice.body],
  notice.channels.length,
  ...notice.channels.flatMap((it) => [
    ...[queueOf(it.name), it.name, it.owner ?? '', it.digestMs, it.waitingMax],
    ...[messageIdOf(it.name, notice.noticeId), windowNameOf(it.name, notice)],
  ]),
];

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
