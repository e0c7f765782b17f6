import { prefixTaken, routesMax, tooManyRoutes } from '../rules/routes.ts';
import type { RouteStore, StoredRoute } from '../store.ts';
import type { Change, Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { createFollower } from './link/revisions.ts';
import { toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

export interface Routes extends RouteStore {
  saw(tenantId: string, revision: string): void;
}

/** A claim without a record is void after this time: whoever made it has failed. */
const claimStandsMs = 60_000;

/** A prefix and the tenant that has claimed it. */
interface Claim {
  readonly tenantId: string;
  /** 0 once its route was deleted. */
  readonly atMs: number;
}

/**
 * The routes of a tenant are one hash. The claim to a prefix lies elsewhere in a cluster: it stands before the record does, and is let go
 * before the record is.
 */
export function createRedisRoutes(connection: RedisConnection, names: Names, commits: Commits): Routes {
  const read = async (tenantId: string): Promise<ReadonlyMap<string, StoredRoute>> => {
    const texts = (await connection.call('HVALS', names.of(tenantId).routes)) as string[];
    const found = texts.flatMap((text) => toRecord<StoredRoute>(text) ?? []);
    return new Map(found.map((it) => [it.prefix, it]));
  };
  const follower = createFollower('routes', read, (it) => names.of(it).revisions, connection);

  const claimText = async (prefix: string): Promise<string> =>
    String((await connection.call('GET', names.route(prefix))) ?? '');

  async function claim({ prefix, tenantId, createdAtMs: atMs }: StoredRoute): Promise<void> {
    const text = await claimText(prefix);
    const standing = toRecord<Claim>(text);
    if (standing && standing.tenantId !== tenantId && (await isHeld(standing, prefix, atMs)))
      throw prefixTaken();
    const own = JSON.stringify({ tenantId, atMs } satisfies Claim);
    if ((await connection.run(scripts.takeOver, [names.route(prefix)], [own, text])) !== 1)
      throw prefixTaken();
  }

  async function isHeld({ tenantId, atMs }: Claim, prefix: string, nowMs: number): Promise<boolean> {
    if (nowMs - atMs < claimStandsMs) return true;
    return (await connection.call('HGET', names.of(tenantId).routes, prefix)) !== null;
  }

  /** Not a claim that is another tenant's by now: that of a route whose deletion has failed before is let go in time. */
  async function release(prefix: string, tenantId: string): Promise<void> {
    const text = await claimText(prefix);
    if (toRecord<Claim>(text)?.tenantId !== tenantId) return;
    const gone = JSON.stringify({ tenantId, atMs: 0 } satisfies Claim);
    await connection.run(scripts.takeOver, [names.route(prefix)], [gone, text, String(claimStandsMs)]);
  }

  function save({ names: own, put, revise }: Change, route: StoredRoute): void {
    put(own.routes, route.prefix, JSON.stringify(route));
    revise('routes');
  }

  async function settled<T>(tenantId: string, made: Promise<T>): Promise<T> {
    try {
      return await made;
    } finally {
      follower.forget(tenantId);
    }
  }

  return {
    addRoute: (route, event) =>
      settled(
        route.tenantId,
        commits.write(route.tenantId, async (change) => {
          const { routes } = change.names;
          if ((await change.read(routes, route.prefix)) !== undefined) throw prefixTaken();
          if ((await read(route.tenantId)).size >= routesMax) throw tooManyRoutes();
          await claim(route);
          save(change, route);
          change.audit(event);
        }),
      ),
    replaceRoute: (route, event) =>
      settled(
        route.tenantId,
        commits.write(route.tenantId, async (change) => {
          if ((await change.read(change.names.routes, route.prefix)) === undefined) return false;
          save(change, route);
          change.audit(event);
          return true;
        }),
      ),
    resealRoute: ({ tenantId, prefix, from, to }, event) =>
      settled(
        tenantId,
        commits.write(tenantId, async (change) => {
          const text = await change.read(change.names.routes, prefix);
          const standing = text === undefined ? undefined : toRecord<StoredRoute>(text);
          if (standing?.sealedToken !== from) return false;
          save(change, { ...standing, sealedToken: to });
          change.audit(event);
          return true;
        }),
      ),
    removeRoute: (tenantId, prefix, event) =>
      settled(
        tenantId,
        commits.write(tenantId, async (change) => {
          if ((await change.read(change.names.routes, prefix)) === undefined) return false;
          await release(prefix, tenantId);
          change.drop(change.names.routes, prefix);
          change.revise('routes');
          change.audit(event);
          return true;
        }),
      ),
    routeOwner: async (prefix) => toRecord<Claim>(await claimText(prefix))?.tenantId,
    routesOf: follower.of,
    saw: follower.saw,
  };
}
