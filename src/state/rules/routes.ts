import { GatewayError } from '../../core/errors.ts';

/** Routes that a tenant may have. */
export const routesMax = 256;

export const prefixTaken = (): GatewayError =>
  new GatewayError('CONFLICT', 'There is a route with this prefix already; choose another one.');

export const tooManyRoutes = (): GatewayError =>
  new GatewayError('CONFLICT', `A tenant may have ${routesMax} routes; delete one.`);
