import type { RedisConnection } from './connection.ts';

/** The difference that is told. Two nodes may then be twice as far apart, which all that goes by clocks bears. */
const apartMsMax = 10_000;

/** Returns a sentence where the clock of this machine and that of Redis are far apart. */
export async function clockWarningOf(
  connection: RedisConnection,
  now: () => number,
): Promise<string | undefined> {
  const beforeMs = now();
  const [seconds, microseconds] = (await connection.call('TIME')) as string[];
  const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  const apartMs = Math.max(redisMs - now(), beforeMs - redisMs);
  if (apartMs <= apartMsMax) return undefined;
  const apart = `${Math.round(apartMs / 1_000)} s ${redisMs > beforeMs ? 'behind' : 'ahead of'}`;
  return `The clock of this machine is ${apart} that of Redis: approvals and keys may end early or late, and notifications come twice.`;
}
