import { GatewayError } from '../../core/errors.ts';
import { defaultTrustTerms } from '../rules/trust.ts';
import type { Store } from '../store.ts';
import { createRedisAgents } from './agents.ts';
import { createRedisApprovals } from './approvals.ts';
import { createRedisAudit } from './audit.ts';
import { createStandings } from './budgets.ts';
import { createRedisCredentials } from './credentials.ts';
import { RedisHistory } from './history.ts';
import { Holders } from './holders.ts';
import { createRedisHomes } from './homes.ts';
import { createRedisIncidents } from './incidents.ts';
import { createRedisKeys } from './keys.ts';
import { clockWarningOf } from './link/clock.ts';
import { Commits } from './link/commits.ts';
import { openConnection, type RedisConnectionOptions, redisRefusal, whyAway } from './link/connection.ts';
import { agreeOnFormat, formatIn, type RecordFormat, recordFormat } from './link/format.ts';
import type { Link } from './link/link.ts';
import { Names } from './link/names.ts';
import { Revisions } from './link/revisions.ts';
import { troubleOf } from './link/trouble.ts';
import { redisWarningsOf } from './link/warnings.ts';
import { createRedisMcpTools } from './mcp-tools.ts';
import { createRedisNonces } from './nonces.ts';
import { createRedisNoticeSources } from './notice-sources.ts';
import { createRedisNotices } from './notices/notices.ts';
import { createRedisPolicies } from './policies.ts';
import { createRedisRoutes } from './routes.ts';
import { createRedisSessions } from './sessions.ts';
import { createStats } from './stats.ts';
import { createRedisSuspensions } from './suspensions.ts';
import { RedisTraces } from './traces.ts';
import { createUsage } from './usage.ts';

/*
 * Keeps the state of any number of processes and machines, in one Redis or one Redis Cluster. Whatever must
 * be atomic is one script. Whatever a node remembers has a revision that the script compares. What is
 * acknowledged is as durable as Redis is configured to be: see docs/administration/redis.md.
 */

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'onError' | 'onHealed'> {
  readonly prefix: string;
  readonly log: { warn(fields: object, message: string): void };
  /**
   * The clock that limits go by. `caller`: the times that callers give; `server`, the default: the clock of
   * Redis.
   */
  readonly clock?: 'server' | 'caller';
  /** The clock of this machine. */
  readonly now?: () => number;
  /** The format of the records; that of this version by default. */
  readonly format?: RecordFormat;
}

/** A clock may be set while the daemon runs. */
const clockCheckMs = 600_000;

/** Returns the methods of a part, each bound to it, so that one store is made of several parts. */
function methodsOf<T extends object>(part: T): { readonly [Name in keyof T]: T[Name] } {
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(part));
  const bound = Object.entries(methods).map(([name, { value }]) => [name, value.bind(part)]);
  return Object.fromEntries(bound);
}

/**
 * Opens the store. It warns where Redis is not configured to keep what it is given. Rejects with
 * STATE_UNAVAILABLE where Redis does not answer or a newer version has written there. Rejects with
 * VALIDATION_FAILED where the prefix would scatter a tenant's keys over a cluster.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { log, clock = 'server' } = options;
  const report = reporter(log, options.nodes);
  if (options.cluster && /[{}]/.test(options.prefix))
    throw new GatewayError('VALIDATION_FAILED', 'On a cluster the prefix of state.url must not have braces.');
  const names = new Names(options.prefix);
  // The level is that of the failure, so that a log that has the one has the other.
  const onHealed = (): void => log.warn({}, 'Redis answers again');
  const connection = await openConnection({ ...options, onError: report, onHealed });
  const revisions = new Revisions(connection, names);
  const link: Link = { connection, names, revisions, commits: new Commits(connection, names, revisions) };
  let terms = defaultTrustTerms;
  const termsOf = () => terms;
  const agents = createRedisAgents(link);
  const history = new RedisHistory(link, report, termsOf);
  await greet(link, options);
  const watching = setInterval(() => warnOfClock(link, options).catch(report), clockCheckMs);
  watching.unref();
  return {
    ...createRedisKeys(link),
    ...agents,
    ...createRedisSuspensions(link),
    ...methodsOf(new Holders(link, { clock, sightings: history, agentById: agents.agentById })),
    ...createStandings(link),
    ...methodsOf(history),
    ...createRedisPolicies(link),
    ...createRedisApprovals(link),
    ...createRedisIncidents(link),
    ...createRedisCredentials(link),
    ...createRedisRoutes(link),
    ...createRedisSessions(link),
    ...createRedisMcpTools(link),
    ...methodsOf(new RedisTraces(link, report, termsOf)),
    ...createStats(link),
    restoreTrust(next) {
      terms = next;
    },
    ...createRedisAudit(link),
    ...createRedisNotices(link),
    ...createRedisNoticeSources(link),
    ...createRedisNonces(link),
    ...createRedisHomes(link),
    ...createUsage(link),
    trouble: () => troubleOf(connection, names),
    async close() {
      clearInterval(watching);
      await connection.close();
    },
  };
}

/** Agrees on a format with other nodes and warns of Redis settings. Closes the connection on failure. */
async function greet({ connection, names }: Link, options: RedisStoreOptions): Promise<void> {
  try {
    await agreeOnFormat(connection, names, options.format ?? recordFormat);
    for (const warning of await redisWarningsOf(connection)) options.log.warn({}, warning);
    await warnOfClock({ connection }, options);
  } catch (error) {
    await connection.close();
    throw redisRefusal((error as Error).cause) ?? error;
  }
}

async function warnOfClock(
  { connection }: Pick<Link, 'connection'>,
  { log, now = Date.now }: RedisStoreOptions,
): Promise<void> {
  const warning = await clockWarningOf(connection, now);
  if (warning !== undefined) log.warn({}, warning);
}

/** Returns the format that is noted in Redis, without changing it; undefined where none is noted. */
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

/**
 * Returns a function that logs errors, at most one line a second: while Redis is away, every connection
 * attempt fails.
 */
function reporter(
  log: RedisStoreOptions['log'],
  nodes: RedisStoreOptions['nodes'],
): (error: unknown) => void {
  let reportedAtMs = 0;
  let unreported = 0;
  return (error) => {
    const nowMs = Date.now();
    unreported += 1;
    if (nowMs - reportedAtMs < 1_000) return;
    // Of a connection that fails, place and code say all.
    const isOfConnection = typeof Object(error).syscall === 'string';
    const why = isOfConnection ? { reason: whyAway(nodes, error) } : { err: error };
    log.warn({ ...why, errors: unreported }, 'Redis has failed');
    reportedAtMs = nowMs;
    unreported = 0;
  };
}
