import { overridingMethods } from '../catalogue/overriding-method.ts';
import type { InboundRoute } from '../config/schema.ts';
import type { ReceivedCall } from '../core/call.ts';
import { GatewayError, methodNotAllowed } from '../core/errors.ts';
import { readingsOf } from '../core/url-readings.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { toRequest } from '../decision/request.ts';
import { kept } from '../util/kept.ts';
import { compilePathGlob, type PathGlob } from '../util/path-glob.ts';
import type { InboundPath } from './inbound-path.ts';

/**
 * Returns why the route does not take the method of a call, on its request line or named in its place; else
 * undefined.
 */
export function whyMethodNotAllowed(
  gate: EntranceGate,
  { allowedMethods, tenantId }: InboundRoute,
  callOf: () => ReceivedCall,
): GatewayError | undefined {
  if (allowedMethods.length === 0) return undefined;
  const call = callOf();
  const methods = [call.method, ...overridingMethods(toRequest(call, maxDecodedBytes(gate, tenantId)))];
  if (methods.every((it) => allowedMethods.includes(it))) return undefined;
  return methodNotAllowed(allowedMethods.join(', '));
}

const globsOf = new WeakMap<readonly string[], readonly PathGlob[]>();

/**
 * Returns why the route does not lead to a path; undefined where it does. Each reading of the path must be
 * allowed.
 */
export function whyPathNotAllowed(
  { allowedPaths }: InboundRoute,
  { rest }: InboundPath,
): GatewayError | undefined {
  if (allowedPaths.length === 0) return undefined;
  const globs = kept(globsOf, allowedPaths, () => allowedPaths.map(compilePathGlob));
  const origin = 'https://route';
  const readings = readingsOf(`${origin}${rest || '/'}`).map((url) => url.slice(origin.length));
  const isAllowed = readings.every((path) => globs.some((matches) => matches(path)));
  return isAllowed ? undefined : new GatewayError('NOT_FOUND', 'The route does not lead to this path.');
}

export const maxDecodedBytes = (gate: EntranceGate, tenantId: string): number =>
  (gate.tenants.find(tenantId) ?? gate.config.limits).maxDecodedBytes;
