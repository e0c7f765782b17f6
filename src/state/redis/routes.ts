import { prefixTaken, routesMax, tooManyRoutes } from '../rules/routes.ts';
import type { RouteStore, StoredRoute } from '../store.ts';
import type { Change } from './link/commits.ts';
import type { Link } from './link/link.ts';
import { readAll, toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

/** How long a claim without a record stands, in milliseconds. After that, whoever made it has failed. */
const claimStandsMs = 60_000;

/** A prefix and the tenant that has claimed it. */
interface Claim {
  readonly tenantId: string;
  /** The time of the claim; 0 once its route was deleted. */
  readonly atMs: number;
}

/** Keeps claims of tenants to prefixes. */
function createClaims({ connection, names }: Link) {
  const claimText = async (prefix: string): Promise<string> =>
    String((await connection.call('GET', names.route(prefix))) ?? '');

  async function take({ prefix, tenantId, createdAtMs: atMs }: StoredRoute): Promise<void> {
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

  /**
   * Lets go of a claim, which ends after `claimStandsMs`. It spares a claim that is another tenant's by now,
   * as it may be when a failed deletion is tried again.
   */
  async function release(prefix: string, tenantId: string): Promise<void> {
    const text = await claimText(prefix);
    if (toRecord<Claim>(text)?.tenantId !== tenantId) return;
    const gone = JSON.stringify({ tenantId, atMs: 0 } satisfies Claim);
    await connection.run(scripts.takeOver, [names.route(prefix)], [gone, text, String(claimStandsMs)]);
  }

  const ownerOf = async (prefix: string): Promise<string | undefined> =>
    toRecord<Claim>(await claimText(prefix))?.tenantId;

  return { take, release, ownerOf };
}

function save({ names: own, putRecord, revise }: Change, route: StoredRoute): void {
  putRecord(own.routes, route.prefix, route);
  revise('routes');
}

/**
 * Keeps the routes of a tenant in one hash. The claim to a prefix may lie on another node of a cluster. It is
 * made before the record is written, and let go before the record is removed.
 */
export function createRedisRoutes(link: Link): RouteStore {
  const { connection, names, commits, revisions } = link;
  const claims = createClaims(link);

  async function read(tenantId: string): Promise<ReadonlyMap<string, StoredRoute>> {
    const found = await readAll<StoredRoute>(connection, names.of(tenantId).routes);
    return new Map(found.map((it) => [it.prefix, it]));
  }

  return {
    addRoute: (route, event) =>
      commits.write(route.tenantId, async (change) => {
        const { routes } = change.names;
        if ((await change.read(routes, route.prefix)) !== undefined) throw prefixTaken();
        if ((await read(route.tenantId)).size >= routesMax) throw tooManyRoutes();
        await claims.take(route);
        save(change, route);
        change.audit(event);
      }),

    replaceRoute: (route, event) =>
      commits.write(route.tenantId, async (change) => {
        if ((await change.read(change.names.routes, route.prefix)) === undefined) return false;
        save(change, route);
        change.audit(event);
        return true;
      }),

    resealRoute: ({ tenantId, prefix, from, to }, event) =>
      commits.write(tenantId, async (change) => {
        const standing = await change.readRecord<StoredRoute>(change.names.routes, prefix);
        if (standing?.sealedToken !== from) return false;
        save(change, { ...standing, sealedToken: to });
        change.audit(event);
        return true;
      }),

    removeRoute: (tenantId, prefix, event) =>
      commits.write(tenantId, async (change) => {
        const { routes } = change.names;
        if ((await change.read(routes, prefix)) === undefined) return false;
        await claims.release(prefix, tenantId);
        change.drop(routes, prefix);
        change.revise('routes');
        change.audit(event);
        return true;
      }),

    async routeOwner(prefix, lastOwner) {
      const hear = async (tenantId: string | undefined): Promise<void> => {
        if (tenantId !== undefined) await revisions.ask(tenantId, 'routes');
      };
      // A call finds its route before `admit` tells of a change. Both questions go out in one flight.
      const [tenantId] = await Promise.all([claims.ownerOf(prefix), hear(lastOwner)]);
      if (tenantId !== lastOwner) await hear(tenantId);
      return tenantId;
    },
    routesOf: revisions.follow('routes', read),
  };
}
