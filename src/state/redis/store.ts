import { GatewayError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { createCache } from '../cache.ts';
import { defaultTrustTerms } from '../rules/trust.ts';
import type { Store } from '../store.ts';
import { createRedisAgents } from './agents.ts';
import { createRedisApprovals } from './approvals.ts';
import { createRedisAudit } from './audit.ts';
import { createStandings } from './budgets.ts';
import { createRedisCredentials } from './credentials.ts';
import { createRedisHistory } from './history.ts';
import { createHolders } from './holders.ts';
import { createRedisHomes } from './homes.ts';
import { createRedisIncidents } from './incidents.ts';
import { createRedisKeys } from './keys.ts';
import { Commits } from './link/commits.ts';
import { openConnection, type RedisConnectionOptions, redisRefusal } from './link/connection.ts';
import { agreeOnFormat, formatIn, type RecordFormat, recordFormat } from './link/format.ts';
import { Names } from './link/names.ts';
import { redisWarningsOf } from './link/warnings.ts';
import { createRedisMcpTools } from './mcp-tools.ts';
import { createRedisNonces } from './nonces.ts';
import { createRedisNotices } from './notices/notices.ts';
import { createRedisPolicies } from './policies.ts';
import { createRedisRoutes } from './routes.ts';
import { createRedisSessions } from './sessions.ts';
import { createStats } from './stats.ts';
import { createRedisSuspensions } from './suspensions.ts';
import { createRedisTold } from './told.ts';
import { createTraces } from './traces.ts';
import { createUsage } from './usage.ts';

/*
 * The state of any number of processes and machines, in one Redis or one Redis Cluster. Whatever must be atomic is one script; whatever
 * a node remembers has a revision that the script compares. What is acknowledged is as durable as Redis is configured to be: see
 * docs/administration/redis.md.
 */

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'onError'> {
  readonly prefix: string;
  readonly log: { warn(fields: object, message: string): void };
  /** `caller`: buckets, quotas and windows go by the times that callers give, not by Redis's own clock. Default `server`. */
  readonly clock?: 'server' | 'caller';
  /** The format of the records; that of this version by default. */
  readonly format?: RecordFormat;
}

const tenantsHeardMax = 4_096;

/**
 * Connects, and warns where Redis is not configured to keep what it is given. Rejects with STATE_UNAVAILABLE where Redis does not
 * answer or a newer version has written there. Rejects with VALIDATION_FAILED where the prefix would scatter a tenant's keys over a cluster.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { log, clock = 'server' } = options;
  const report = reporter(log);
  if (options.cluster && /[{}]/.test(options.prefix))
    throw new GatewayError('VALIDATION_FAILED', 'On a cluster the prefix of state.url must not have braces.');
  const names = new Names(options.prefix);
  const connection = await openConnection({ ...options, onError: report });
  const heard = createCache<string>(tenantsHeardMax);
  let terms = defaultTrustTerms;
  const termsOf = () => terms;
  const commits = new Commits(connection, names, newId, (tenantId) => heard.delete(tenantId));
  const agents = createRedisAgents(connection, names, commits);
  const policies = createRedisPolicies(connection, names, commits);
  const credentials = createRedisCredentials(connection, names, commits);
  const routes = createRedisRoutes(connection, names, commits);
  const { lastId, learn, ...history } = createRedisHistory(connection, names, commits, report, termsOf);
  const holders = createHolders(connection, names, {
    clock,
    sawPolicies: policies.saw,
    sawCredentials: credentials.saw,
    sawRoutes: routes.saw,
    sightings: { lastId, learn },
    agentById: agents.agentById,
    heard,
  });
  const traces = createTraces(connection, names, report, termsOf);
  try {
    await agreeOnFormat(connection, names, options.format ?? recordFormat);
    for (const warning of await redisWarningsOf(connection)) log.warn({}, warning);
  } catch (error) {
    await connection.close();
    throw redisRefusal((error as Error).cause) ?? error;
  }

  return {
    ...createRedisKeys(connection, names, commits),
    ...agents,
    ...createRedisSuspensions(connection, names, commits),
    ...holders,
    ...createStandings(connection, names),
    ...history,
    ...policies,
    ...createRedisApprovals(connection, names, commits),
    ...createRedisIncidents(connection, names, commits),
    ...credentials,
    ...routes,
    ...createRedisSessions(connection, names, commits),
    ...createRedisMcpTools(connection, names, commits),
    ...traces,
    ...createStats(connection, names),
    restoreTrust(next) {
      terms = next;
    },
    ...createRedisAudit(connection, names, commits),
    ...createRedisNotices(connection, names),
    ...createRedisTold(connection, names, commits),
    ...createRedisNonces(connection, names),
    ...createRedisHomes(connection, names),
    ...createUsage(connection, names),

    async trouble() {
      try {
        await connection.ping();
        return undefined;
      } catch {
        return 'Redis does not answer.';
      }
    },
    close: connection.close,
  };
}

/** The format that is noted in Redis, read without changing it; undefined where none is. */
export async function redisFormat(
  options: Omit<RedisStoreOptions, 'log'>,
): Promise<RecordFormat | undefined> {
  const connection = await openConnection({ ...options, onError: () => undefined });
  try {
    return await formatIn(connection, new Names(options.prefix));
  } finally {
    await connection.close();
  }
}

/** One line a second at most: while Redis is away every connection attempt fails. */
function reporter(log: RedisStoreOptions['log']): (error: unknown) => void {
  let reportedAtMs = 0;
  let unreported = 0;
  return (error) => {
    const nowMs = Date.now();
    unreported += 1;
    if (nowMs - reportedAtMs < 1_000) return;
    log.warn({ err: error, errors: unreported }, 'Redis has failed');
    reportedAtMs = nowMs;
    unreported = 0;
  };
}
