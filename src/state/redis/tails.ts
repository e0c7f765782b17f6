import type { Tail } from '../../call.ts';
import type { Store } from '../store.ts';
import { noTails, standingTails, tailsKeptMs, tailsMax } from '../tails.ts';
import type { Connection } from './connection.ts';
import type { Names } from './names.ts';

/*
 * What agents have begun to send: for each agent and host a sorted set by their times, which `admit.lua` answers and Redis forgets by
 * itself.
 */

/** `onError` is told of what could not be noted. */
export function createTails(
  connection: Connection,
  names: Names,
  onError: (error: unknown) => void,
): Pick<Store, 'noteTails'> {
  return {
    noteTails({ tenantId, agentId, host, tails }) {
      if (tails.length === 0) return;
      const key = names.of(tenantId).tails(agentId, host);
      // Plain commands, in this order on one connection: one that Redis may not know yet would come to it behind the next call.
      const members = tails.flatMap((it) => [it.atMs, JSON.stringify(it)]);
      for (const [command, ...args] of [
        ['ZADD', ...members],
        ['ZREMRANGEBYRANK', 0, -1 - tailsMax],
        ['PEXPIRE', tailsKeptMs],
      ] as const)
        connection.call(command, key, ...args).catch(onError);
    },
  };
}

/** What `admit.lua` answers of them. */
export const parseTails = (text: string | undefined, nowMs: number): readonly Tail[] =>
  text ? standingTails(JSON.parse(`[${text}]`) as Tail[], nowMs) : noTails;
