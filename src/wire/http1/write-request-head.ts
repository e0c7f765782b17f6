import { GatewayError } from '../../core/errors.ts';
import { isField, isNamed, token } from './field.ts';

/**
 * Matches a path in origin-form (RFC 9112, 3.2.1) of visible ASCII: all else is escaped. OPTIONS may have `*`
 * instead.
 */
const originForm = /^\/[!-~]*$/;
/** Methods for which a body is defined. Their heads say so where there is none (RFC 9110, 8.6). */
const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Returns the head of a request as it is sent, one character for each byte. `headers` is flat, with its Host.
 * Only `bodyBytes` says how long the body is. Throws VALIDATION_FAILED for anything that would be read as
 * more than one request, or as none.
 */
export function toRequestHead(
  method: string,
  path: string,
  headers: readonly string[],
  bodyBytes: number,
): string {
  if (!token.test(method) || !isPath(method, path)) throw cannotBeSent();
  let head = `${method} ${path} HTTP/1.1\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1];
    if (value === undefined || !isField(name, value) || isFraming(name)) {
      throw cannotBeSent();
    }
    head += `${name}: ${value}\r\n`;
  }
  return bodyBytes > 0 || methodsWithBody.has(method)
    ? `${head}Content-Length: ${bodyBytes}\r\n\r\n`
    : `${head}\r\n`;
}

const isPath = (method: string, path: string): boolean =>
  originForm.test(path) || (path === '*' && method === 'OPTIONS');

const isFraming = (name: string): boolean =>
  isNamed(name, 'content-length') || isNamed(name, 'transfer-encoding');

const cannotBeSent = (): GatewayError =>
  new GatewayError(
    'VALIDATION_FAILED',
    'The method, the path or a header has characters that cannot be sent.',
  );
