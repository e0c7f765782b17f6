import type { RedisConnection } from './connection.ts';

const versionMin = 7;

/** Returns sentences on settings of the server that can lose what was acknowledged. */
export async function redisWarningsOf(connection: RedisConnection): Promise<readonly string[]> {
  const found = (await connection.info()).flatMap(warningsIn);
  return [...new Set(found)];
}

function warningsIn(info: string): readonly string[] {
  const fields = new Map(
    info.split('\r\n').map((line) => [line.split(':')[0] ?? '', line.split(':')[1] ?? '']),
  );
  const version = fields.get('redis_version') ?? '0';
  const policy = fields.get('maxmemory_policy') ?? 'noeviction';
  const warnings: string[] = [];
  if (Number.parseInt(version, 10) < versionMin)
    warnings.push(`Redis is version ${version}; it should be ${versionMin}.0 or newer.`);
  if (fields.get('aof_enabled') !== '1')
    warnings.push('Redis has "appendonly" off: what is acknowledged is lost when it ends.');
  if (policy !== 'noeviction')
    warnings.push(`Redis has "maxmemory-policy ${policy}": it may throw away keys, policies and counters.`);
  return warnings;
}
