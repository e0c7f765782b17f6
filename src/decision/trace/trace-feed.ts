import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Arrivals, Store } from '../../state/store.ts';

/*
 * Hands on traces as they become findable, on whichever node their calls were made. One loop asks the state
 * for the traces of a tenant, however many follow them, and gives each follower what it wants. A slow
 * follower loses some traces and is told so. It holds up nobody.
 */

/** The most traces that wait for one follower. */
export const waitingTracesMax = 1_000;
const waitingCharsMax = 4 * 1024 * 1024;
/** The time between two questions to the state. Calls are shipped within a quarter of a second. */
const pollMs = 400;
/**
 * The number of answers with more behind them after which the rest is skipped. Followers see what happens
 * now.
 */
const answersPerPoll = 16;

interface Followed {
  /** The traces as JSON texts, in the order in which they became findable. */
  readonly traces: readonly string[];
  /** Some traces behind these are left out. */
  readonly hasGap: boolean;
}

interface Follower {
  /** Returns the traces since the last question. Waits for them at most `waitMs`. */
  next(waitMs: number): Promise<Followed>;
  leave(): void;
}

interface Waiting {
  traces: string[];
  chars: number;
  hasGap: boolean;
  wake: () => void;
  readonly wants: (trace: string) => boolean;
}

interface Followers {
  readonly all: Set<Waiting>;
  position: string;
  isRunning: boolean;
}

export class TraceFeed {
  readonly #store: Pick<Store, 'tracesSince'>;
  readonly #log: Log;
  readonly #tenants = new Map<string, Promise<Followers>>();
  readonly #ending = new AbortController();

  constructor(store: Pick<Store, 'tracesSince'>, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Gives the tenant's traces that `wants` takes. They are those that become findable once this has resolved.
   */
  async follow(tenantId: string, wants: (trace: string) => boolean): Promise<Follower> {
    if (this.#ending.signal.aborted) throw new GatewayError('SHUTTING_DOWN', 'The gateway ends.');
    const own: Waiting = { traces: [], chars: 0, hasGap: false, wake: () => undefined, wants };
    const followers = await this.#followersOf(tenantId);
    followers.all.add(own);
    // The loop of the tenant may just have ended, too.
    if (!followers.isRunning)
      this.#run(tenantId, followers).catch((error: unknown) =>
        this.#log.error({ tenant_id: tenantId, err: error }, 'traces are not followed any more'),
      );
    return {
      async next(waitMs) {
        if (own.traces.length === 0 && !own.hasGap) await wakeOrTimeOut(own, waitMs);
        const { traces, hasGap } = own;
        Object.assign(own, { traces: [], chars: 0, hasGap: false });
        return { traces, hasGap };
      },
      leave() {
        followers.all.delete(own);
      },
    };
  }

  close(): void {
    this.#ending.abort();
  }

  async #open(tenantId: string): Promise<Followers> {
    const { position } = await this.#store.tracesSince(tenantId, undefined);
    return { all: new Set(), position, isRunning: false };
  }

  /** Asks for traces until nobody follows any more. What fails is tried again. */
  async #run(tenantId: string, followers: Followers): Promise<void> {
    followers.isRunning = true;
    let isFailing = false;
    while (followers.all.size > 0 && !this.#ending.signal.aborted) {
      try {
        await poll(this.#store, tenantId, followers);
        isFailing = false;
      } catch (error) {
        if (!isFailing)
          this.#log.warn({ tenant_id: tenantId, err: error }, 'traces cannot be followed for now');
        isFailing = true;
      }
      await sleep(pollMs, undefined, { ref: false });
    }
    followers.isRunning = false;
    this.#tenants.delete(tenantId);
  }

  /** Returns the followers of a tenant. Several that come at once share one question where the state is. */
  #followersOf(tenantId: string): Promise<Followers> {
    const standing = this.#tenants.get(tenantId);
    if (standing) return standing;
    const opening = this.#open(tenantId);
    this.#tenants.set(tenantId, opening);
    opening.catch(() => this.#tenants.delete(tenantId));
    return opening;
  }
}

async function wakeOrTimeOut(own: Waiting, waitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  own.wake = resolve;
  const timer = setTimeout(resolve, waitMs);
  await promise;
  clearTimeout(timer);
}

/** Gives the followers all that has come since the last time. */
async function poll(
  store: Pick<Store, 'tracesSince'>,
  tenantId: string,
  followers: Followers,
): Promise<void> {
  for (let answers = 0; ; answers += 1) {
    const isTooMuch = answers === answersPerPoll;
    const arrived = await store.tracesSince(tenantId, isTooMuch ? undefined : followers.position);
    followers.position = arrived.position;
    for (const it of followers.all) give(it, isTooMuch ? { ...arrived, hasGap: true } : arrived);
    if (!arrived.hasMore) return;
  }
}

function give(to: Waiting, { traces, hasGap }: Arrivals): void {
  to.hasGap ||= hasGap;
  for (const trace of traces) {
    if (!to.wants(trace)) continue;
    if (to.hasGap || to.traces.length >= waitingTracesMax || to.chars + trace.length > waitingCharsMax) {
      // Traces before the gap stay in order. Later ones wait until those are taken.
      to.hasGap = true;
      break;
    }
    to.traces.push(trace);
    to.chars += trace.length;
  }
  if (to.traces.length > 0 || to.hasGap) to.wake();
}
