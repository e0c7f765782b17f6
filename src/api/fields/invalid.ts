import { GatewayError } from '../../core/errors.ts';

/**
 * Returns the error for a request that does not validate. It tells the first 100 mistakes with their places;
 * the first mistake is the detail.
 */
export function invalid(errors: readonly { path: string; message: string }[]): GatewayError {
  const first = errors[0];
  const detail = first
    ? `${first.path === '' ? '' : `${first.path}: `}${first.message}`
    : 'The request is not valid.';
  return new GatewayError('VALIDATION_FAILED', detail, { errors: errors.slice(0, 100) });
}
