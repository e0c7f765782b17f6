import { GatewayError } from '../../core/errors.ts';
import { MalformedMessage } from '../http1/head.ts';
import { ConnectionEnded, timedOut, toExchangeFailure } from './failures.ts';

/** Codes that undici has for a connection which the other side has closed. */
const closed: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']);

/**
 * Returns the failure of a request that undici has sent. `isAnswering` says that the head of the answer was
 * read. Errors of undici are not kept as causes: they hold pieces of the answer.
 */
export function toClientFailure(error: unknown, isAnswering: boolean): GatewayError {
  const { name, code, message } = Object(error) as NodeJS.ErrnoException;
  // Errors of undici's parser have no code.
  const isMalformed = name === 'HTTPParserError';
  if (closed.has(code) || (isMalformed && message.includes('(Invalid EOF state)')))
    return toExchangeFailure(new ConnectionEnded(), isAnswering);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return timedOut('did not answer in time');
  if (code === 'UND_ERR_BODY_TIMEOUT') return timedOut('stopped in the middle of its answer');
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return timedOut('did not accept the connection in time');
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return toExchangeFailure(new MalformedMessage('The head of the answer is too long.', true), isAnswering);
  if (isMalformed)
    return toExchangeFailure(new MalformedMessage('The answer is not well-formed.'), isAnswering);
  if (typeof code === 'string' && code.startsWith('UND_ERR'))
    return new GatewayError('INTERNAL', 'The request could not be sent.', {}, coded(code));
  return toExchangeFailure(error, isAnswering);
}

const coded = (code: string): Error => Object.assign(new Error('undici'), { code });
