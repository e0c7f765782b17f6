import { GatewayError } from '../../core/errors.ts';

/** Returns a request that does not validate: what is wrong, where, and all of it. */
export function invalid(errors: readonly { path: string; message: string }[]): GatewayError {
  const first = errors[0];
  const detail = first
    ? `${first.path === '' ? '' : `${first.path}: `}${first.message}`
    : 'The request is not valid.';
  return new GatewayError('VALIDATION_FAILED', detail, { errors: errors.slice(0, 100) });
}
