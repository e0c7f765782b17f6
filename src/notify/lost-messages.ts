import type { Log } from '../core/log.ts';
import type { Store } from '../state/store.ts';

export interface LostTimings {
  /** Milliseconds after which a message is given up that its channel has not taken. */
  readonly giveUpAfterMs: number;
  /** Milliseconds without anybody who serves a channel, after which its messages are given up. */
  readonly goneAfterMs: number;
}

interface LostOptions {
  readonly store: Pick<Store, 'channelQueues' | 'buryMessages'>;
  readonly log: Pick<Log, 'warn'>;
  /** Tells whether the configuration has a channel of that name. */
  readonly isKnown: (channel: string) => boolean;
  readonly nowMs: number;
  readonly timings: LostTimings;
}

const buriedAtOnce = 500;

/** Gives up messages that nobody will send any more, so that they can be seen. */
export async function giveUpLost({ store, log, isKnown, nowMs, timings }: LostOptions): Promise<void> {
  const failing = {
    dueBeforeMs: nowMs - timings.giveUpAfterMs,
    reason: 'the channel has failed for a day',
    onlyIf: 'failing',
  } as const;
  const gone = {
    dueBeforeMs: Number.MAX_SAFE_INTEGER,
    reason: 'the channel is not in the configuration any more',
    onlyIf: { unclaimedSinceMs: nowMs - timings.goneAfterMs },
  } as const;
  for (const { name, waiting, dead } of await store.channelQueues()) {
    const stays = isKnown(name);
    if (stays && waiting === 0) continue;
    const burial = { channel: name, nowMs, limit: buriedAtOnce, ...(stays ? failing : gone) };
    for (let left = waiting + 1; left > 0; left -= buriedAtOnce)
      if ((await store.buryMessages(burial)) < buriedAtOnce) break;
    if (!stays && waiting > 0) log.warn({ channel: name, waiting, dead }, 'a channel with notices is gone');
  }
}
