import { type GatewayError, toGatewayError } from '../errors.ts';
import type { Target } from '../target.ts';
import type { Guard } from '../upstream/guard.ts';

/** Why nobody may go there, as far as that can be told without resolving anything; undefined where one may. */
export function whyBlocked(
  guard: Guard,
  { host, port }: Pick<Target, 'host' | 'port'>,
): GatewayError | undefined {
  try {
    guard.checkHost(host, port);
    return undefined;
  } catch (error) {
    return toGatewayError(error);
  }
}
