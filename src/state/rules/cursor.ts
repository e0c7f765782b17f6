import { GatewayError } from '../../core/errors.ts';

/** Whoever sends a cursor that no list has given is told so. */
export function notACursor(): GatewayError {
  const message = 'The cursor is none that a list has given; leave it out to begin anew.';
  return new GatewayError('VALIDATION_FAILED', message, { errors: [{ path: 'cursor', message }] });
}
