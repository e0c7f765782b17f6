import type { Identification } from '../state/store.ts';

/** The entrances that ask who calls. The API is one of them, with its calls and the console. */
export const authEntrances = ['forward', 'inbound', 'api'] as const;
export type AuthEntrance = (typeof authEntrances)[number];

/**
 * The reasons why nobody knew who called, or why a known caller was refused. None quotes what was presented.
 */
export const authReasons = [
  /** Nothing was presented. */
  'missing',
  /** The text has not the form of a key. */
  'malformed',
  /** The state does not have the key. */
  'unknown',
  'revoked',
  'expired',
  /** The tenant of the key is not served. */
  'tenant',
  /** The key, or a route by address, may not be used from this address. */
  'address',
  /** The secret of a route is wrong or missing. */
  'token',
  /** The secret is neither a key nor the admin secret. */
  'secret',
  /** The session of the console has ended. */
  'session',
  /** Slack did not sign the request. */
  'signature',
  /** Nothing was looked at, since the address had failed too often. */
  'held_up',
] as const;
export type AuthReason = (typeof authReasons)[number];

/**
 * Returns why nobody is known by what was presented. A key that the state knows is then of a tenant that is
 * not served.
 */
export function whyNobody(holder: Identification | undefined): AuthReason {
  if (!holder) return 'malformed';
  return holder.ok ? 'tenant' : holder.why;
}
