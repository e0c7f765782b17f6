import type { Identification } from '../state/store.ts';

/** Entrances as far as they ask who calls: the API is one, its calls and the console included. */
export const authEntrances = ['forward', 'inbound', 'api'] as const;
export type AuthEntrance = (typeof authEntrances)[number];

/** Says why nobody knew who called, or why a known caller might not. None quotes what was presented. */
export const authReasons = [
  /** Nothing was presented. */
  'missing',
  /** It has not the form of a key. */
  'malformed',
  /** A key that the state does not have. */
  'unknown',
  'revoked',
  'expired',
  /** The tenant of the key is not served. */
  'tenant',
  /** A key, or a route by address, that may not be used from there. */
  'address',
  /** The secret of a route is wrong or missing. */
  'token',
  /** Neither a key nor the admin secret. */
  'secret',
  /** The session of the console has ended. */
  'session',
  /** Not signed by Slack. */
  'signature',
  /** Not even looked at, since the address had failed too often. */
  'held_up',
] as const;
export type AuthReason = (typeof authReasons)[number];

/** Why what was presented is nobody's; a key of somebody is then of a tenant that is not served. */
export function whyNobody(holder: Identification | undefined): AuthReason {
  if (!holder) return 'malformed';
  return holder.ok ? 'tenant' : holder.why;
}
