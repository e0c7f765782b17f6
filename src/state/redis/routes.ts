import type { MaybePromise } from '../port/page.ts';
import { prefixTaken, routesMax, tooManyRoutes } from '../rules/routes.ts';
import type { AuditEvent, RouteReseal, RouteStore, StoredRoute } from '../store.ts';
import type { Change, Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { createFollower } from './link/revisions.ts';
import { toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

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
export class RedisRoutes implements RouteStore {
  readonly #connection: RedisConnection;
  readonly #names: Names;
  readonly #commits: Commits;
  readonly #follower;

  constructor(connection: RedisConnection, names: Names, commits: Commits) {
    this.#connection = connection;
    this.#names = names;
    this.#commits = commits;
    this.#follower = createFollower('routes', (it) => this.#read(it), names, connection);
  }

  addRoute(route: StoredRoute, event: AuditEvent): Promise<void> {
    return this.#settled(
      route.tenantId,
      this.#commits.write(route.tenantId, async (change) => {
        const { routes } = change.names;
        if ((await change.read(routes, route.prefix)) !== undefined) throw prefixTaken();
        if ((await this.#read(route.tenantId)).size >= routesMax) throw tooManyRoutes();
        await this.#claim(route);
        this.#save(change, route);
        change.audit(event);
      }),
    );
  }

  replaceRoute(route: StoredRoute, event: AuditEvent): Promise<boolean> {
    return this.#settled(
      route.tenantId,
      this.#commits.write(route.tenantId, async (change) => {
        if ((await change.read(change.names.routes, route.prefix)) === undefined) return false;
        this.#save(change, route);
        change.audit(event);
        return true;
      }),
    );
  }

  resealRoute({ tenantId, prefix, from, to }: RouteReseal, event: AuditEvent): Promise<boolean> {
    return this.#settled(
      tenantId,
      this.#commits.write(tenantId, async (change) => {
        const text = await change.read(change.names.routes, prefix);
        const standing = text === undefined ? undefined : toRecord<StoredRoute>(text);
        if (standing?.sealedToken !== from) return false;
        this.#save(change, { ...standing, sealedToken: to });
        change.audit(event);
        return true;
      }),
    );
  }

  removeRoute(tenantId: string, prefix: string, event: AuditEvent): Promise<boolean> {
    return this.#settled(
      tenantId,
      this.#commits.write(tenantId, async (change) => {
        if ((await change.read(change.names.routes, prefix)) === undefined) return false;
        await this.#release(prefix, tenantId);
        change.drop(change.names.routes, prefix);
        change.revise('routes');
        change.audit(event);
        return true;
      }),
    );
  }

  async routeOwner(prefix: string): Promise<string | undefined> {
    return toRecord<Claim>(await this.#claimText(prefix))?.tenantId;
  }

  routesOf(tenantId: string): MaybePromise<ReadonlyMap<string, StoredRoute>> {
    return this.#follower.of(tenantId);
  }

  saw(tenantId: string, revision: string): void {
    this.#follower.saw(tenantId, revision);
  }

  async #read(tenantId: string): Promise<ReadonlyMap<string, StoredRoute>> {
    const texts = (await this.#connection.call('HVALS', this.#names.of(tenantId).routes)) as string[];
    const found = texts.flatMap((text) => toRecord<StoredRoute>(text) ?? []);
    return new Map(found.map((it) => [it.prefix, it]));
  }

  async #claimText(prefix: string): Promise<string> {
    return String((await this.#connection.call('GET', this.#names.route(prefix))) ?? '');
  }

  async #claim({ prefix, tenantId, createdAtMs: atMs }: StoredRoute): Promise<void> {
    const text = await this.#claimText(prefix);
    const standing = toRecord<Claim>(text);
    if (standing && standing.tenantId !== tenantId && (await this.#isHeld(standing, prefix, atMs)))
      throw prefixTaken();
    const own = JSON.stringify({ tenantId, atMs } satisfies Claim);
    if ((await this.#connection.run(scripts.takeOver, [this.#names.route(prefix)], [own, text])) !== 1)
      throw prefixTaken();
  }

  async #isHeld({ tenantId, atMs }: Claim, prefix: string, nowMs: number): Promise<boolean> {
    if (nowMs - atMs < claimStandsMs) return true;
    return (await this.#connection.call('HGET', this.#names.of(tenantId).routes, prefix)) !== null;
  }

  /** Not a claim that is another tenant's by now: that of a route whose deletion has failed before is let go in time. */
  async #release(prefix: string, tenantId: string): Promise<void> {
    const text = await this.#claimText(prefix);
    if (toRecord<Claim>(text)?.tenantId !== tenantId) return;
    const gone = JSON.stringify({ tenantId, atMs: 0 } satisfies Claim);
    await this.#connection.run(
      scripts.takeOver,
      [this.#names.route(prefix)],
      [gone, text, String(claimStandsMs)],
    );
  }

  #save({ names: own, put, revise }: Change, route: StoredRoute): void {
    put(own.routes, route.prefix, JSON.stringify(route));
    revise('routes');
  }

  async #settled<T>(tenantId: string, made: Promise<T>): Promise<T> {
    try {
      return await made;
    } finally {
      this.#follower.forget(tenantId);
    }
  }
}
