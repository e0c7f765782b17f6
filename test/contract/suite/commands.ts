import type { RedisServer } from '../../support/redis.ts';

/** How many commands the servers have run that read or write keys: those of their clients' upkeep are left out. */
export async function commandsOf(servers: readonly RedisServer[]): Promise<number> {
  const counts = await Promise.all(servers.map(countOf));
  return counts.reduce((sum, it) => sum + it, 0);
}

const upkeep = new Set(['info', 'ping', 'hello', 'client|setinfo', 'select', 'cluster|slots', 'readonly']);

async function countOf(server: RedisServer): Promise<number> {
  const text = String(await server.command('INFO', 'commandstats'));
  let sum = 0;
  for (const [, name = '', calls] of text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm))
    if (!upkeep.has(name)) sum += Number(calls);
  return sum;
}
