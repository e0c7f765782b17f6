import { setImmediate } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';
import { type Bucket, levelAt, partsPerToken, type Rate, secondsUntilToken } from '../state/rules/limits.ts';
import { RecentMap } from '../util/recent-map.ts';
import { Tally } from '../util/tally.ts';
import type { Caller, Route } from './route.ts';

/*
 * Bounds on one caller's use of the control plane, so that others find it free. Each process counts for
 * itself, since the bounds limit its work.
 */

/** Rate of the management calls of one key. The bucket holds what a console or a script asks in one go. */
export const managementRate: Rate = { perMinute: 6000, capacity: 6000 };
const bucketsMax = 10_000;
/** Listings of one tenant that may wait for those before them. */
export const inLineMax = 256;

export class ApiLimits {
  // Buckets in the order of their last use.
  readonly #buckets = new RecentMap<string, Bucket>(bucketsMax);
  readonly #lines = new Map<string, { last: Promise<unknown>; length: number }>();
  readonly #running = new Tally();

  /**
   * Counts a management call against the caller's key, together with those of its ephemeral keys. Throws
   * RATE_LIMITED where they ask for more than the key may.
   */
  spend(route: Route, caller: Caller, nowMs: number): void {
    if (caller.kind !== 'key' || !isManagement(route)) return;
    const keyId = liveKeyOf(caller);
    this.#take(keyId, managementRate, nowMs);
    if (route.perKeyRate) this.#take(`${keyId} ${route.path}`, route.perKeyRate, nowMs);
  }

  #take(name: string, rate: Rate, nowMs: number): void {
    const bucket = this.#buckets.get(name);
    const level = bucket ? levelAt(bucket, rate, nowMs) : rate.capacity * partsPerToken;
    if (level < partsPerToken)
      throw tooMuch('The key asks too much of the control plane.', secondsUntilToken(level, rate));
    this.#buckets.set(name, { level: level - partsPerToken, atMs: nowMs });
  }

  /**
   * Does the work of a route within the bounds of the route. Listings of a tenant run one after another, each
   * in a turn of the event loop of its own. A route with `perKeyMax`, `perTenantMax` or `inAllMax` runs at
   * most so often at once. Throws RATE_LIMITED beyond that.
   */
  run<T>(route: Route, caller: Caller, tenantId: () => string, work: () => Promise<T>): Promise<T> {
    if (route.isListing) return this.#inLine(tenantId(), work);
    const places = placesOf(route, caller, tenantId);
    return places.length === 0 ? work() : this.#amongFew(places, work);
  }

  async #inLine<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(tenantId) ?? { last: Promise.resolve(), length: 0 };
    if (line.length > inLineMax) throw tooMuch('Too many listings of the tenant are asked for at once.', 1);
    this.#lines.set(tenantId, line);
    line.length += 1;
    const done = line.last.then(() => setImmediate()).then(work);
    // The next listing comes, whatever became of this one.
    line.last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      line.length -= 1;
      if (line.length === 0) this.#lines.delete(tenantId);
    }
  }

  async #amongFew<T>(places: readonly Place[], work: () => Promise<T>): Promise<T> {
    for (const { name, max, whose } of places)
      if (this.#running.of(name) >= max)
        throw tooMuch(`${whose} has ${max} of these requests under way, which is all it may.`, 5);
    for (const { name } of places) this.#running.add(name);
    try {
      return await work();
    } finally {
      for (const { name } of places) this.#running.add(name, -1);
    }
  }
}

/** A place that at most `max` requests may have at once. `whose` begins the message of the refusal. */
interface Place {
  readonly name: string;
  readonly max: number;
  readonly whose: string;
}

function placesOf(
  { path, perKeyMax, perTenantMax, inAllMax }: Route,
  caller: Caller,
  tenantId: () => string,
): readonly Place[] {
  const places: Place[] = [];
  if (perKeyMax !== undefined && caller.kind === 'key')
    places.push({ name: `key ${liveKeyOf(caller)} ${path}`, max: perKeyMax, whose: 'The key' });
  if (perTenantMax !== undefined)
    places.push({ name: `tenant ${tenantId()} ${path}`, max: perTenantMax, whose: 'The tenant' });
  if (inAllMax !== undefined) places.push({ name: `all ${path}`, max: inAllMax, whose: 'The gateway' });
  return places;
}

/** Tells whether a route is management. Calls have their plan's rate; polling for an approval has none. */
const isManagement = ({ access }: Route): boolean =>
  typeof access !== 'string' || !['public', 'call', 'key', 'scan'].includes(access);

/** Returns the id of the caller's live key. An ephemeral key counts as the key that made it. */
const liveKeyOf = ({ key }: Extract<Caller, { kind: 'key' }>): string => key.parentKeyId ?? key.keyId;

const tooMuch = (detail: string, retryAfterSeconds: number): GatewayError =>
  new GatewayError('RATE_LIMITED', detail, { retryAfterSeconds });
