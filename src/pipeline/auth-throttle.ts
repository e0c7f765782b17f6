import { GatewayError } from '../errors.ts';
import { type Bucket, levelAt, partsPerToken, secondsUntilToken } from '../state/limits.ts';

/** Failures that an address may have in a row, and how fast they are forgiven. */
const rate = { perMinute: 30, capacity: 60 } as const;
export const addressesMax = 10_000;

/** Slows down who tries keys and secrets. Only failures cost anything: an address that never fails is never held up. */
export interface AuthThrottle {
  /** Throws RATE_LIMITED, with Retry-After, where this address has failed too often lately. */
  check(address: string, nowMs: number): void;
  failed(address: string, nowMs: number): void;
}

/** Remembers at most `addressesMax` addresses; beyond that the one that has not failed for longest is forgotten. */
export function createAuthThrottle(): AuthThrottle {
  // In the order of the last failure.
  const buckets = new Map<string, Bucket>();

  return {
    check(address, nowMs) {
      const bucket = buckets.get(toSource(address));
      if (!bucket) return;
      const level = levelAt(bucket, rate, nowMs);
      if (level >= partsPerToken) return;
      throw new GatewayError(
        'RATE_LIMITED',
        'Too many requests from this address had no valid key; wait before the next.',
        { retryAfterSeconds: secondsUntilToken(level, rate) },
      );
    },
    failed(address, nowMs) {
      const source = toSource(address);
      const known = buckets.get(source);
      const level = known ? levelAt(known, rate, nowMs) : rate.capacity * partsPerToken;
      buckets.delete(source);
      const oldest = buckets.size >= addressesMax ? buckets.keys().next().value : undefined;
      if (oldest !== undefined) buckets.delete(oldest);
      buckets.set(source, { level: Math.max(0, level - partsPerToken), atMs: nowMs });
    },
  };
}

/** Who has one IPv6 address usually has all of its /64, and would otherwise have a bucket for each. */
function toSource(address: string): string {
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice('::ffff:'.length);
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? 0 : tail.split(':').length;
    while (groups.length + rest < 8) groups.push('0');
  }
  return groups.length < 4 ? address : groups.slice(0, 4).join(':');
}
