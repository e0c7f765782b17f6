import { GatewayError } from '../core/errors.ts';
import { type Bucket, levelAt, partsPerToken, secondsUntilToken } from '../state/rules/limits.ts';
import { networkOf } from '../util/addresses.ts';
import { RecentMap } from '../util/recent-map.ts';
import type { AuthEntrance, AuthReason } from './auth-failure.ts';

/** The failures that an address may have in a row, and how many are forgiven in a minute. */
const whole = { perMinute: 30, capacity: 60 } as const;
export const addressesMax = 10_000;

/**
 * Slows down guessing of keys and secrets. Only failures cost, so an address without any is never held up.
 */
type AuthThrottle = ReturnType<typeof createAuthThrottle>;

/**
 * The throttles by kind. Each counts for itself: guessed keys do not hold up other secrets from the same
 * address.
 */
export interface AuthThrottles {
  /**
   * The throttle of keys. No key can be guessed, so a valid one passes whatever failed before, and only
   * failures are held up.
   */
  readonly keys: AuthThrottle;
  /** The throttles of secrets that people chose. They are not even compared where too many failed. */
  readonly adminSecret: AuthThrottle;
  readonly routeTokens: AuthThrottle;
  /**
   * The throttle of sessions that a secret opens. Each is written down, so that they have the rate of
   * failures.
   */
  readonly signIns: AuthThrottle;
  /** Counts a failure that is held against no address. */
  readonly note: NonNullable<AuthListeners['counted']>;
}

/** The description of a failure, with nothing of what was presented. */
interface AuthFailure {
  readonly entrance: AuthEntrance;
  readonly reason: AuthReason;
  /** The id of a valid key that may not be used from this address. Each such key counts for itself. */
  readonly keyId?: string;
}

interface AuthListeners {
  /**
   * Receives each failure that is held against an address. After one with `isLast` the address is held up.
   */
  readonly told?: (failure: AuthFailure & { readonly address: string; readonly isLast: boolean }) => void;
  /** Receives every failure, also where too many came before it. */
  readonly counted?: (entrance: AuthEntrance, reason: AuthReason) => void;
}

/**
 * Creates the throttles of one of several processes. The connections of an address are spread evenly among
 * them.
 */
export const createAuthThrottles = (processes = 1, listeners: AuthListeners = {}): AuthThrottles => ({
  keys: createAuthThrottle(processes, listeners),
  adminSecret: createAuthThrottle(processes, listeners),
  routeTokens: createAuthThrottle(processes, listeners),
  signIns: createAuthThrottle(processes, {
    detail: 'Too many sessions were opened from this address; wait before the next.',
  }),
  note: (entrance, reason) => listeners.counted?.(entrance, reason),
});

const tooMany = 'Too many requests from this address had no valid key; wait before the next.';

/**
 * Creates a throttle. It remembers at most `addressesMax` addresses, then forgets the one that has not failed
 * for longest.
 */
export function createAuthThrottle(
  processes = 1,
  { detail = tooMany, told, counted }: AuthListeners & { readonly detail?: string } = {},
) {
  const rate = {
    perMinute: Math.max(1, Math.floor(whole.perMinute / processes)),
    capacity: Math.max(1, Math.floor(whole.capacity / processes)),
  };
  // The buckets are in the order of the last failure.
  const buckets = new RecentMap<string, Bucket>(addressesMax);

  /** Returns the level of the bucket. Throws RATE_LIMITED where that is less than one token. */
  function levelOf(source: string, nowMs: number): number {
    const bucket = buckets.get(source);
    const level = bucket ? levelAt(bucket, rate, nowMs) : rate.capacity * partsPerToken;
    if (level >= partsPerToken) return level;
    throw new GatewayError('RATE_LIMITED', detail, { retryAfterSeconds: secondsUntilToken(level, rate) });
  }

  /** Takes a token, and returns whether it was the last one. Where none is left, throws as `check` does. */
  function take(address: string, nowMs: number, id?: string): boolean {
    const source = id === undefined ? networkOf(address) : `${networkOf(address)} ${id}`;
    const level = levelOf(source, nowMs) - partsPerToken;
    buckets.set(source, { level, atMs: nowMs });
    return level < partsPerToken;
  }

  return {
    /** Throws RATE_LIMITED, with Retry-After, where this address has failed too often lately. */
    check(address: string, nowMs: number, entrance: AuthEntrance) {
      try {
        levelOf(networkOf(address), nowMs);
      } catch (error) {
        counted?.(entrance, 'held_up');
        throw error;
      }
    },
    take,
    /** Counts a failure. Where there were too many before it, throws as `check` does. */
    failed(address: string, nowMs: number, failure: AuthFailure) {
      counted?.(failure.entrance, failure.reason);
      const isLast = take(address, nowMs, failure.keyId);
      told?.({ ...failure, address, isLast });
    },
  };
}
