import { GatewayError, toGatewayError } from '../../core/errors.ts';
import { METHODS } from '../../util/plain-http.ts';
import { MalformedMessage } from '../http1/head.ts';

/* Problems of a request that show before anybody looks at what it wants. */

/**
 * Methods that are taken. They are upper case: rules name methods so, and an upstream may take `delete` for
 * DELETE. LIST is one of HashiCorp Vault.
 */
export const knownMethods: ReadonlySet<string> = new Set([...METHODS, 'LIST']);

export const headTooLarge = (): GatewayError =>
  new GatewayError(
    'HEADERS_TOO_LARGE',
    'The request head has more bytes or fields than `limits.max_header_bytes` and `limits.max_headers` allow.',
  );

export const tooSlow = (): GatewayError =>
  new GatewayError('VALIDATION_FAILED', 'The request did not arrive in time.');

export const cutShort = (): GatewayError =>
  new GatewayError('VALIDATION_FAILED', 'The request ended before it was whole.');

export const unknownMethod = (): GatewayError =>
  new GatewayError('VALIDATION_FAILED', 'The method is unknown.');

export const nestedTunnel = (): GatewayError =>
  new GatewayError('VALIDATION_FAILED', 'A tunnel carries requests, and no second tunnel.');

export const unmetExpectation = (): GatewayError =>
  new GatewayError('EXPECTATION_FAILED', 'The only expectation that can be met is 100-continue.');

/** Returns the error of a parser in the form that the client may see. */
export function toReadingFailure(thrown: unknown): GatewayError {
  if (!(thrown instanceof MalformedMessage)) return toGatewayError(thrown);
  if (thrown.isTooLarge) return headTooLarge();
  return new GatewayError('VALIDATION_FAILED', `The request is not well-formed HTTP/1.1. ${thrown.message}`);
}
