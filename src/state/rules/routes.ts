import { GatewayError } from '../../core/errors.ts';

/** The limit of a tenant's routes. */
export const routesMax = 256;

export const prefixTaken = (): GatewayError =>
  new GatewayError('CONFLICT', 'There is a route with this prefix already; choose another one.');

export const tooManyRoutes = (): GatewayError =>
  new GatewayError('CONFLICT', `A tenant may have ${routesMax} routes; delete one.`);
